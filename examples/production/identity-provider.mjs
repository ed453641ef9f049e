// What stands for two issuers of others: the provider where users sign in, such as GitHub,
// which knows this shop as its only client, and one that gives tokens to machines. Both are
// oidc-provider, which takes any password. Nothing of this belongs into production.
import { once } from "node:events";
import { createServer } from "node:http";
import Provider from "oidc-provider";

const { PUBLIC_ORIGIN, CLIENT_SECRET, MACHINE_SECRET } = process.env;
const staff = ["bob"];
const ttl = {
  AccessToken: 3600,
  ClientCredentials: 3600,
  Grant: 86_400,
  IdToken: 3600,
  Interaction: 600,
  Session: 86_400,
};

async function serve(configuration) {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${server.address().port}`;
  server.on("request", new Provider(issuer, { ttl, ...configuration }).callback());
  return issuer;
}

const users = await serve({
  clients: [
    {
      client_id: "shop",
      client_secret: CLIENT_SECRET,
      redirect_uris: [`${PUBLIC_ORIGIN}/callback`],
      grant_types: ["authorization_code", "refresh_token"],
      scope: "openid email profile offline_access",
    },
  ],
  cookies: { keys: [CLIENT_SECRET] },
  claims: { openid: ["sub"], email: ["email"], profile: ["name", "groups"] },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({
      sub: id,
      email: `${id}@example.com`,
      name: id,
      groups: staff.includes(id) ? ["staff"] : ["customers"],
    }),
  }),
});

const machines = await serve({
  clients: [
    {
      client_id: "restocker",
      client_secret: MACHINE_SECRET,
      redirect_uris: [],
      response_types: [],
      grant_types: ["client_credentials"],
      scope: "stock:write",
    },
  ],
  scopes: ["stock:write"],
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_, audience) => ({ scope: "stock:write", audience, accessTokenFormat: "jwt" }),
    },
  },
});

process.send({ users, machines });
