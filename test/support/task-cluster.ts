import { beforeAll } from "vitest";
import type { JsonObject } from "../../src/json/json.ts";
import type { Result } from "../../src/protocol/methods.ts";
import type { ClientInfo } from "../../src/protocol/peer.ts";
import type { Outcome } from "../../src/protocol/service.ts";
import type { DetailedTask, Task } from "../../src/protocol/task.ts";
import { loadCompiler } from "../../src/schema/to-validator.ts";
import { type Context, lazyQuestions } from "../../src/server/context.ts";
import type { ServerOptions } from "../../src/server/options.ts";
import { createServer, type Server } from "../../src/server/server.ts";
import type { TaskMode } from "../../src/server/tasks/task-record.ts";
import { tool } from "../../src/server/tool.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import type { Store, TopicSubscription } from "../../src/store/store.ts";
import { createManualClock } from "../../src/testing/clock.ts";
import { complete, faultLog, makeCall, type Parts, peer } from "./direct.ts";
import { type Fate, type MortalStore, mortalStore } from "./mortal-store.ts";

export const form = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] } as const;
export const yes = { action: "accept", content: { ok: true } } as const;
export const bad = { action: "accept", content: { ok: "perhaps" } } as const;

/** A client of the newest revision that knows tasks. */
export const modern = { tasks: { wanted: false } } as const;
export const legacyPeer: ClientInfo = { ...peer(), revision: "2025-11-25" };
/** A client of 2025-11-25 that wants a task. */
export const wanting = { tasks: { wanted: true }, peer: legacyPeer } as const;
/** The same when it asks for one. */
export const legacy = { tasks: { wanted: false }, peer: legacyPeer } as const;

export const as = (principal: string, revision: ClientInfo["revision"] = "2026-07-28") => ({
  tasks: { wanted: false },
  peer: { ...peer(), revision, auth: { principal } },
});

export type Run = (context: Context, node: string) => unknown;

export interface ClusterOptions extends Partial<ServerOptions> {
  readonly mode?: TaskMode;
  readonly toolMs?: number;
  readonly scopes?: readonly string[];
  /** Whether the store says that it outlives its processes. */
  readonly durable?: boolean;
  readonly fates?: Readonly<Record<string, Fate>>;
}

export interface Node {
  readonly server: Server;
  readonly process: MortalStore;
}

/** Processes that serve the same tool on one store, made when they are first asked for. */
export function taskCluster(
  run: Run,
  { mode = "required", durable = true, fates = {}, ...given }: ClusterOptions = {},
) {
  const { toolMs, scopes, ...options } = given;
  const clock = createManualClock();
  const shared = memoryStore({ clock });
  const { faults, onError } = faultLog();
  const nodes = new Map<string, Node>();

  const node = (name: string): Node => {
    const known = nodes.get(name);
    if (known !== undefined) return known;
    const process = mortalStore(shared, fates[name]);
    const it = tool({
      task: mode,
      run: (_, context) => run(context, name),
      ...(toolMs !== undefined && { timeoutMs: toolMs }),
      scopes,
    });
    const base = {
      name: "shop",
      version: "1",
      stateKeys: ["KXnZTXoiyrcQMW6czKs-zDymBYXuXckvnfvRrwwowRI"],
      clock,
      onError,
      store: seenBy(process, shared, durable),
    };
    const made = { process, server: createServer({ ...base, ...options, tools: { it } }) };
    nodes.set(name, made);
    return made;
  };

  const server = (name: string): Server => node(name).server;

  const get = (id: string, name = "a", parts: Parts<"tasks/get"> = modern): Promise<DetailedTask> =>
    complete(server(name), "tasks/get", { taskId: id }, parts);

  const until = async <T>(look: () => Promise<T | undefined>): Promise<T> => {
    for (let turns = 0; turns < 200; turns++) {
      const seen = await look();
      if (seen !== undefined) return seen;
      await clock.advanceAsync(0);
    }
    throw new Error("it did not happen");
  };

  return {
    clock,
    faults,
    shared,
    node,
    server,
    get,
    until,
    call: (name = "a", parts: Parts<"tools/call"> = modern) =>
      server(name)(makeCall("tools/call", { name: "it" }, parts).call),
    /** Begins a task and gives its id. */
    async begin(name = "a", parts: Parts<"tools/call"> = modern): Promise<string> {
      return taskOf(await server(name)(makeCall("tools/call", { name: "it" }, parts).call)).taskId;
    },
    /** The task, as soon as it has this status. */
    is: <S extends DetailedTask["status"]>(id: string, status: S, name = "a", parts: Parts<"tasks/get"> = modern) =>
      until(async () => {
        const task = await get(id, name, parts);
        return task.status === status ? (task as Extract<DetailedTask, { status: S }>) : undefined;
      }),
    update: (
      id: string,
      inputResponses: Result<"tasks/get">["_meta"] & object,
      name = "a",
      parts: Parts<"tasks/update"> = modern,
    ) => server(name)(makeCall("tasks/update", { taskId: id, inputResponses: inputResponses as never }, parts).call),
    cancel: (id: string, name = "a", parts: Parts<"tasks/cancel"> = modern) =>
      server(name)(makeCall("tasks/cancel", { taskId: id }, parts).call),
  };
}

export function taskOf(outcome: Outcome): Task {
  if (outcome.kind === "task") return outcome.task;
  throw new Error(`no task: ${JSON.stringify(outcome)}`);
}

/** The text of a task that is completed. */
export function textOf({ result }: { readonly result?: Result<"tools/call"> }): string {
  const [block] = result?.content ?? [];
  return block?.type === "text" ? block.text : "";
}

export function resultText(text: string): JsonObject {
  return { content: [{ type: "text", text }] };
}

export const never = (): Promise<never> => new Promise(() => {});

beforeAll(async () => {
  await Promise.all([import("../../src/server/tasks/task-manager.ts"), lazyQuestions.load(), loadCompiler()]);
});

/** A store as one process sees it, which may die; what it hears then reaches nobody. */
function seenBy(process: MortalStore, shared: Store, durable: boolean): Store {
  const { values, streams, leases, topics } = process.store;
  const subscribe = async (topic: string): Promise<TopicSubscription> => {
    const inner = await shared.topics.subscribe(topic);
    return {
      close: () => inner.close(),
      [Symbol.asyncDispose]: () => inner.close(),
      async *[Symbol.asyncIterator]() {
        for await (const message of inner) {
          if (process.dead) return;
          yield message;
        }
      },
    };
  };
  const close = async (): Promise<void> => {};
  return {
    values,
    streams,
    leases,
    topics: { publish: (topic, text) => topics.publish(topic, text), subscribe },
    durable,
    close,
    [Symbol.asyncDispose]: close,
  };
}
