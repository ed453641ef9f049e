import { randomBytes } from "node:crypto";
import { type ConnectOptions, connect } from "../../../src/connect/index.ts";
import {
  type Gateway,
  type GatewayOptions,
  openGateway,
  type ServerSpec,
  type Vault,
} from "../../../src/gateway/index.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import type { Store } from "../../../src/store/store.ts";
import type { HttpWarning } from "../../../src/transport/http/options.ts";
import { serveHttp } from "../../../src/transport/node/serve-http.ts";
import { quietPort } from "../../support/quiet-port.ts";
import { recordSecret } from "../../support/secrets.ts";
import { createUser, type Visit } from "./user-agent.ts";

/** A gateway whose users have accounts at its servers. */
export interface AccountGateway extends AsyncDisposable {
  readonly origin: string;
  readonly url: string;
  readonly gateway: Gateway;
  readonly store: Store;
  /** What was told to whoever runs it. */
  readonly told: unknown[];
  readonly warnings: HttpWarning[];
  /** A client of a user of the gateway. */
  open(user: string, options?: ConnectOptions): ReturnType<typeof connect>;
}

export interface AccountGatewayOptions extends Partial<Omit<GatewayOptions, "credentials">> {
  readonly servers: Readonly<Record<string, string | ServerSpec>>;
  readonly credentials: Partial<Vault>["servers"];
  readonly vault?: Partial<Vault>;
  readonly port?: number;
  readonly keys?: readonly string[];
}

export const vaultKey = (): string => randomBytes(32).toString("base64url");

/** The token of a user of the gateway. */
export function gatewayToken(user: string): string {
  return `gateway-token-of-${user}-0123456789`;
}

/** A caller is who its token says. */
export const userOfToken = async (http: { header(name: string): string | undefined }) => {
  const user = /^Bearer gateway-token-of-(\w+)-0123456789$/.exec(http.header("authorization") ?? "")?.[1];
  const rest = { scopes: ["use"], claims: { email: `${user}@example.com` } };
  return user === undefined
    ? ({ ok: false, status: 401 } as const)
    : ({ ok: true, auth: { principal: `user:${user}`, ...rest } } as const);
};

export async function startAccountGateway(options: AccountGatewayOptions): Promise<AccountGateway> {
  const {
    servers,
    credentials = {},
    vault,
    port = await quietPort(),
    store = memoryStore(),
    keys = [vaultKey()],
    ...more
  } = options;
  for (const key of keys) recordSecret("key of a vault", key);
  const origin = `http://127.0.0.1:${port}`;
  const told: unknown[] = [];
  const warnings: HttpWarning[] = [];
  const gateway = await openGateway(servers, {
    ...more,
    store,
    vaultKeys: keys,
    credentials: { origin, servers: credentials, onEvent: (event) => told.push(event), ...vault },
  });
  void (async () => {
    for await (const event of gateway.events()) told.push(event);
  })();
  const serving = await serveHttp(gateway, { port, auth: userOfToken, onWarning: (warning) => warnings.push(warning) });
  return {
    origin,
    url: serving.url,
    gateway,
    store: await store,
    told,
    warnings,
    open: (user, given = {}) =>
      connect({ url: serving.url, headers: { authorization: `Bearer ${gatewayToken(user)}` } }, given),
    async [Symbol.asyncDispose]() {
      await serving.close();
      await gateway.close();
    },
  };
}

/** Somebody with a browser who opens links of a gateway. */
export function createVisitor(login: string) {
  const user = createUser({ login });
  const links: string[] = [];
  const visits: Visit[] = [];
  const open = async (link: string | URL): Promise<Visit> => {
    const visit = await user.browse(new URL(link), () => false);
    visits.push(visit);
    return visit;
  };
  const options = {
    async onElicitUrl({ url }: { readonly url: string | URL }) {
      links.push(String(url));
      await open(url);
      return { action: "accept" } as const;
    },
  } satisfies ConnectOptions;
  return { user, links, visits, open, options };
}
