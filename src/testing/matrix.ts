import type { Client } from "../client/client.ts";
import { type ConnectOptions, connect, connectBy } from "../connect/connect.ts";
import { openInMemory } from "../connect/in-process.ts";
import type { Target } from "../connect/target.ts";
import { newest, type Revision, revisions } from "../protocol/revision.ts";
import type { Service } from "../protocol/service.ts";
import type { ToolTypes, Typed } from "../protocol/tool.ts";
import { toFetchHandler } from "../transport/http/fetch-handler.ts";
import type { HttpOptions } from "../transport/http/options.ts";
import { serveHttp } from "../transport/node/serve-http.ts";

/** One way to reach a server: a transport and a revision. */
export interface MatrixCell<T extends ToolTypes = ToolTypes> {
  /** Like `stdio, 2025-06-18`. */
  readonly name: string;
  /**
   * `in process` has no wire; `memory` has one that stays in this process. The
   * others are HTTP: over sockets with plain answers where they can be plain,
   * over sockets with streams only, and through a fetch handler without sockets.
   */
  readonly transport: "in process" | "memory" | "stdio" | "http-json" | "http-sse" | "fetch";
  readonly revision: Revision;
  /** Opens a client this way. Close it when done. */
  connect(options?: ConnectOptions): Promise<Client<T>>;
}

export interface MatrixOptions<T extends ToolTypes> {
  /** Reached in process, over a wire in memory, and over HTTP. */
  readonly server?: (Service & Typed<T>) | undefined;
  /** The same server as a program, reached over stdio. */
  readonly command?: Exclude<Target, Service> | undefined;
  /** Default: all. */
  readonly revisions?: readonly Revision[] | undefined;
}

/**
 * Every way to reach a server, so that one behaviour can be tested over all of
 * them. Without a wire there is only the newest revision.
 *
 * @example
 * describe.each(matrix({ server: shop, command: "node shop.js" }))("$name", ({ connect }) => {
 *   it("sells", async () => {
 *     await using client = await connect();
 *     expect(await client.tools.buy({ sku: "A" })).toEqual({ order: "o1" });
 *   });
 * });
 */
export function testMatrix<T extends ToolTypes = ToolTypes>(options: MatrixOptions<T>): readonly MatrixCell<T>[] {
  const { command, revisions: wanted = revisions } = options;
  // What every way gives is typed once, below.
  const server: Service | undefined = options.server;
  const over = (
    transport: MatrixCell["transport"],
    spoken: readonly Revision[],
    open: Open,
  ): readonly MatrixCell<T>[] =>
    spoken.map((revision) => ({
      name: `${transport}, ${revision}`,
      transport,
      revision,
      connect: (given) => open({ ...given, revision }) as Promise<Client<T>>,
    }));

  return [
    ...(server === undefined
      ? []
      : [
          ...over("in process", wanted.filter(isNewest), (given) => connect(server, given)),
          ...over("memory", wanted, ({ identity, ...given }) =>
            connectBy((opening) => openInMemory(server, opening, identity), given),
          ),
          ...over("http-json", wanted, (given) => overHttp(server, given, {})),
          ...over("http-sse", wanted, (given) => overHttp(server, given, { respondWith: "sse" })),
          ...over("fetch", wanted, (given) => overFetch(server, given)),
        ]),
    ...(command === undefined ? [] : over("stdio", wanted, (given) => connect(command, given))),
  ];
}

/** A server of its own for every client, which ends with it. */
async function overHttp(server: Service, { identity, ...options }: ConnectOptions, http: HttpOptions): Promise<Client> {
  const serving = await serveHttp(server, { ...http, ...knowing(identity), port: 0 });
  return endingWith(connect(serving.url, options), serving.close);
}

function overFetch(server: Service, { identity, ...options }: ConnectOptions): Promise<Client> {
  const handle = toFetchHandler(server, knowing(identity));
  const url = new URL(`http://localhost/${crypto.randomUUID()}`);
  return endingWith(connect(url, { ...options, fetch: (...request) => handle(new Request(...request)) }), handle.close);
}

/** A server that takes everybody for one caller. */
function knowing(identity: ConnectOptions["identity"]): Pick<HttpOptions, "auth"> {
  return identity === undefined ? {} : { auth: () => ({ ok: true, auth: identity }) };
}

async function endingWith(connecting: Promise<Client>, end: () => Promise<void>): Promise<Client> {
  try {
    const client = await connecting;
    void client.closed.then(end);
    return client;
  } catch (error) {
    await end();
    throw error;
  }
}

type Open = (options: ConnectOptions) => Promise<Client>;

function isNewest(revision: Revision): boolean {
  return revision === newest;
}
