import { openGateway } from "../../../src/gateway/index.ts";
import { openStore } from "../../../src/store/node/index.ts";
import { serveHttp } from "../../../src/transport/node/serve-http.ts";
import { userOfToken } from "./account-gateway.ts";

// A process with a gateway whose users have accounts at one server.

export interface GatewayChildOptions {
  readonly port: number;
  readonly store: string;
  readonly key: string;
  readonly notes: string;
}

const { port, store, key, notes } = JSON.parse(process.argv[2] ?? "") as GatewayChildOptions;
const gateway = await openGateway(
  { notes },
  {
    store: openStore(store),
    vaultKeys: [key],
    stateKeys: [key],
    credentials: { origin: `http://127.0.0.1:${port}`, servers: { notes: { kind: "user" } } },
  },
);
await serveHttp(gateway, { port, auth: userOfToken });
process.send?.("ready");
