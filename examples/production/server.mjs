// One of the processes. All of them are the same; what they share is in the store.
import "./telemetry.mjs";
import { oauthProxy, oidc } from "plugbay/auth/proxy";
import { anyOf, jwt } from "plugbay/auth/server";
import { serveHttp } from "plugbay/http";
import { createMetrics } from "plugbay/metrics";
import { otel } from "plugbay/otel";
import { jsonLines } from "plugbay/server";
import { openStore } from "plugbay/store";
import { createShop } from "./shop.mjs";

const { NAME, STORE, PUBLIC_ORIGIN, USER_ISSUER, CLIENT_SECRET, PROXY_KEY, MACHINE_ISSUER } = process.env;
const resource = `${PUBLIC_ORIGIN}/mcp`;

const store = await openStore(STORE);
const metrics = createMetrics();

// The keys that seal states are those of PLUGBAY_STATE_KEYS, the same in every process.
const shop = createShop({
  name: NAME,
  store,
  telemetry: [otel(), metrics],
  onEvent: jsonLines(process.stdout),
});

const auth = anyOf(
  // Users: by the provider, which gives no tokens for this server. It is asked first, so that clients are sent there.
  oauthProxy({
    provider: oidc({ issuer: USER_ISSUER, clientId: "shop", clientSecret: CLIENT_SECRET, name: "Example ID" }),
    resource,
    store,
    keys: [PROXY_KEY],
    scopes: ["cart:write"],
    allowPrivateNetwork: true, // the provider of this example, and metadata documents of clients, are on this machine
  }),
  // Machines: by an issuer that gives tokens for this server.
  jwt({ issuer: MACHINE_ISSUER, audience: resource }),
);

const { port } = await serveHttp(shop, {
  port: 0, // in a container 8080, with host: "0.0.0.0" and allowedHosts
  auth,
  trustProxy: true, // nginx says in X-Forwarded-For who asks, and nobody else reaches this port
  health: true,
  routes: { "/metrics": metrics.handler },
  signals: true, // SIGTERM: open calls are answered, tasks left to the other process
  drainMs: 20_000,
  onClose: () => store.close(),
});
process.send?.({ port });
