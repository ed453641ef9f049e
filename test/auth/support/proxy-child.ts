import { github, oauthProxy } from "../../../src/auth/node/proxy.ts";
import { createServer, requireAuth, tool } from "../../../src/server/index.ts";
import { openStore } from "../../../src/store/node/index.ts";
import { serveHttp } from "../../../src/transport/node/serve-http.ts";
import type { ProxyChildOptions } from "./proxy-process.ts";

// A process with a server behind a proxy, that signs users in with what looks like GitHub.

const { port, store, key, provider, resource, client } = JSON.parse(process.argv[2] ?? "") as ProxyChildOptions;
const service = createServer({
  name: "proxied",
  version: "1.0.0",
  tools: {
    whoami: tool({ run: (_, ctx) => requireAuth(ctx).principal }),
    upstream: tool({
      run: async (_, ctx) => ((await ctx.auth?.upstreamToken()) === undefined ? "no token" : "a token"),
    }),
  },
});
const auth = oauthProxy({
  provider: github({ ...client, baseUrl: provider }),
  resource,
  store: openStore(store),
  keys: [key],
  scopes: ["orders:read"],
  // Documents of these tests are on this machine.
  allowPrivateNetwork: true,
});
const serving = await serveHttp(service, { port, auth });
process.send?.({ url: serving.url });
process.once("message", () => void serving.close().then(() => process.disconnect()));
