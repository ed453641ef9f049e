import type { Client } from "../client/client.ts";
import { type ConnectOptions, connect } from "../connect/connect.ts";
import type { Target } from "../connect/target.ts";
import { type Revision, revisions } from "../model/revision.ts";
import type { Service } from "../model/service.ts";
import type { Shaped, ToolShapes } from "../model/shape.ts";

/** One way to reach a server: a transport and a revision. */
export interface Way<T extends ToolShapes = ToolShapes> {
  /** Like `stdio, 2025-06-18`. */
  readonly name: string;
  readonly transport: string;
  readonly revision: Revision;
  /** Opens a client this way. Close it when done. */
  connect(options?: ConnectOptions): Promise<Client<T>>;
}

export interface MatrixOptions<T extends ToolShapes> {
  /** Reached in process. */
  readonly server?: Service & Shaped<T>;
  /** The same server as a program, reached over stdio. */
  readonly command?: Exclude<Target, Service>;
  /** Default: all. */
  readonly revisions?: readonly Revision[];
}

/**
 * Every way to reach a server, so that one behaviour can be tested over all of
 * them.
 *
 * @example
 * describe.each(matrix({ server: shop, command: "node shop.js" }))("$name", ({ connect }) => {
 *   it("sells", async () => {
 *     await using client = await connect();
 *     expect(await client.tools.buy({ sku: "A" })).toEqual({ order: "o1" });
 *   });
 * });
 */
export function matrix<T extends ToolShapes = ToolShapes>(options: MatrixOptions<T>): readonly Way<T>[] {
  const { server, command, revisions: wanted = revisions } = options;
  const targets: readonly (readonly [string, Target | undefined])[] = [
    ["in process", server],
    ["stdio", command],
  ];
  return targets.flatMap(([transport, target]) =>
    target === undefined ? [] : wanted.map((revision) => way<T>(transport, target, revision)),
  );
}

function way<T extends ToolShapes>(transport: string, target: Target, revision: Revision): Way<T> {
  return {
    name: `${transport}, ${revision}`,
    transport,
    revision,
    connect: (options) => connect(target, { ...options, revision }) as Promise<Client<T>>,
  };
}
