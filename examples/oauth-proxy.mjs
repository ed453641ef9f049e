// A server whose users sign in with GitHub, for any MCP client. Register an OAuth App on
// GitHub with the callback URL http://127.0.0.1:3000/callback, and start it with:
//   GITHUB_ID=… GITHUB_SECRET=… PROXY_KEY=$(openssl rand -base64 32) node examples/oauth-proxy.mjs
// Then sign in with any client, for example:
//   node examples/sign-in.mjs http://127.0.0.1:3000/mcp whoami
// GITHUB_URL is for GitHub Enterprise Server, STORE (such as redis://127.0.0.1) for more than
// one process, and USERS (such as ann,bob) for those who may sign in.
import { github, oauthProxy } from "plugbay/auth/proxy";
import { serveHttp } from "plugbay/http";
import { createServer, requireAuth, tool } from "plugbay/server";
import { openStore } from "plugbay/store";

const { GITHUB_ID, GITHUB_SECRET, GITHUB_URL, PROXY_KEY, PORT = "3000", STORE = "memory:", USERS } = process.env;
const api = GITHUB_URL === undefined ? "https://api.github.com" : `${GITHUB_URL}/api/v3`;

const desk = createServer({
  name: "desk",
  version: "1.0.0",
  tools: {
    whoami: tool({
      description: "Says who has signed in",
      run: (_, ctx) => `${requireAuth(ctx).claims.login}, who may ${ctx.auth.scopes.join(" and ")}`,
    }),
    profile: tool({
      description: "Reads the profile from GitHub, as the user who has signed in",
      scopes: ["profile:read"],
      run: async (_, ctx) => {
        const headers = { authorization: `Bearer ${await ctx.auth.upstreamToken()}`, "user-agent": "plugbay-example" };
        const { name, login } = await (await fetch(`${api}/user`, { headers })).json();
        return `${name} (${login})`;
      },
    }),
  },
});

await (GITHUB_ID === undefined
  ? console.log("set GITHUB_ID, GITHUB_SECRET and PROXY_KEY: see the head of this file")
  : serve());

async function serve() {
  const users = USERS?.split(",");
  const auth = oauthProxy({
    provider: github({ clientId: GITHUB_ID, clientSecret: GITHUB_SECRET, baseUrl: GITHUB_URL }),
    resource: `http://127.0.0.1:${PORT}/mcp`,
    store: openStore(STORE),
    keys: [PROXY_KEY],
    scopes: ["profile:read"],
    onSignIn: ({ claims }) => users === undefined || users.includes(claims.login),
  });
  const { url } = await serveHttp(desk, { port: Number(PORT), auth, signals: true });
  console.log(`listening on ${url}`);
}
