import type { ClientConnection } from "../../connect/create-connect.ts";
import { asJson } from "../../json/json.ts";
import { type Failure, McpError, toFailure } from "../../protocol/errors.ts";
import type { DiscoverResult } from "../../protocol/methods.ts";
import { revisions } from "../../protocol/revision.ts";
import {
  type Call,
  createCall,
  type Notify,
  type Outcome,
  onAbort,
  type Service,
  withCall,
} from "../../protocol/service.ts";
import { changeToNotification, honoured, isWanted, type ListenFilter } from "../../protocol/subscription.ts";
import { LazyAbort } from "../../std/lazy-abort.ts";

/** A service whose server can be replaced while clients stay connected. */
export interface ReloadingService {
  readonly service: Service;
  /** Sends calls from now on to another connection. The one before answers what it has begun, and is closed then. */
  use(connection: ClientConnection): void;
  /** Closes the connection that is used. */
  close(): Promise<void>;
}

const moved = new McpError("cancelled", "nobody listens to this connection any more");

interface Generation {
  readonly line: ClientConnection;
  /** Calls that it still has to answer. */
  open: number;
}

interface Listener {
  readonly filter: ListenFilter;
  readonly notify: Notify;
  /** Listens to another connection instead of the last one. */
  follow(generation: Generation): void;
}

/** Serves what a connection leads to, and can be given another connection at any time. */
export function createReloadingService(first: ClientConnection): ReloadingService {
  let current: Generation = { line: first, open: 0 };
  const listeners = new Set<Listener>();

  const leave = (generation: Generation): void => {
    if (generation !== current && generation.open === 0) void generation.line.client.close();
  };

  const send = async (generation: Generation, call: Call): Promise<Outcome> => {
    generation.open++;
    try {
      const { connection } = generation.line;
      const peer = { ...call.peer, revision: connection.revision };
      return (await connection.service(withCall(call, { peer, http: undefined }))) as Outcome;
    } finally {
      generation.open--;
      leave(generation);
    }
  };

  const listen = (call: Call<"subscriptions/listen">): Promise<Outcome> =>
    new Promise((resolve) => {
      const filter = honoured(call.params.notifications, describe(current).capabilities);
      let stop: LazyAbort | undefined;
      const listener: Listener = {
        filter,
        notify: call.notify,
        follow(generation) {
          stop?.abort(moved);
          stop = new LazyAbort();
          void hear(generation, call, stop);
        },
      };
      listeners.add(listener);
      onAbort(call, () => {
        listeners.delete(listener);
        stop?.abort(moved);
        resolve({ kind: "complete", result: {} });
      });
      void call.notify(acknowledged, { notifications: asJson(filter) });
      listener.follow(current);
    });

  const answer = async (call: Call): Promise<Outcome> => {
    if (call.method === "server/discover") return { kind: "complete", result: describe(current) };
    if (call.method === "subscriptions/listen") return listen(call);
    try {
      return await send(current, call);
    } catch (error) {
      return { kind: "failed", failure: failureOf(error), cause: error };
    }
  };

  return {
    service: answer as Service,
    use(line) {
      const before = current;
      current = { line, open: 0 };
      leave(before);
      for (const listener of listeners) {
        listener.follow(current);
        for (const kind of ["tools", "prompts", "resources"] as const) {
          if (isWanted({ kind }, listener.filter)) void listener.notify(...changeToNotification({ kind }));
        }
      }
    },
    close: () => current.line.client.close(),
  };
}

/** Passes on what the server itself tells of, until `abort` aborts. A server need not tell of anything. */
async function hear({ line }: Generation, call: Call<"subscriptions/listen">, abort: LazyAbort): Promise<void> {
  const { connection } = line;
  const peer = { ...call.peer, revision: connection.revision };
  const notify: Notify = (method, params) => (method === acknowledged ? undefined : call.notify(method, params));
  try {
    await connection.service(createCall({ method: call.method, params: call.params, peer, abort, notify }));
  } catch {
    // The connection is over: the next one is listened to when there is one.
  }
}

const acknowledged = "notifications/subscriptions/acknowledged";

/** What a server says of itself. Its lists may change with its file. */
function describe({ line }: Generation): DiscoverResult {
  const { capabilities, serverInfo, instructions } = line.client.server;
  const { tools, prompts, resources } = capabilities;
  return {
    supportedVersions: [...revisions].reverse(),
    capabilities: {
      ...capabilities,
      ...(tools && { tools: { ...tools, listChanged: true } }),
      ...(prompts && { prompts: { ...prompts, listChanged: true } }),
      ...(resources && { resources: { ...resources, listChanged: true } }),
    },
    serverInfo,
    ...(instructions !== undefined && { instructions }),
  };
}

function failureOf(error: unknown): Failure {
  if (error instanceof McpError) return toFailure(error);
  return { code: "internal", message: "the server of the file does not answer" };
}
