import { beforeAll } from "vitest";
import type { Json, JsonObject } from "../../src/json/json.ts";
import type { Outcome } from "../../src/protocol/service.ts";
import { loadCompiler } from "../../src/schema/to-validator.ts";
import type { Context } from "../../src/server/context.ts";
import type { ServerOptions } from "../../src/server/options.ts";
import { createServer } from "../../src/server/server.ts";
import { tool } from "../../src/server/tool.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { createManualClock, type ManualClock } from "../../src/testing/clock.ts";
import { askedBy, faultLog, makeCall, peer, resultOf } from "./direct.ts";
import { type Fate, type MortalStore, mortalStore } from "./mortal-store.ts";

export const form = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] } as const;
export const yes = { action: "accept", content: { ok: true } };
export const no = { action: "accept", content: { ok: false } };
export const usedAlready = "the request state is refused: it was used already";

const stateKeys = ["KXnZTXoiyrcQMW6czKs-zDymBYXuXckvnfvRrwwowRI"];

beforeAll(async () => {
  await loadCompiler();
});

export type Run = (context: Context, node: string) => unknown;

export interface Attempt {
  readonly key?: string;
  readonly state?: string;
  readonly answers?: JsonObject;
  readonly input?: JsonObject;
  readonly principal?: string;
}

/** Processes that serve the same tool on one store, and a client whose calls reach any of them. */
export function cluster(run: Run, options: Partial<ServerOptions> = {}, fates: Readonly<Record<string, Fate>> = {}) {
  const clock = createManualClock();
  const shared = memoryStore({ clock });
  const { faults, onError } = faultLog();
  const process = (name: string) => {
    const process = mortalStore(shared, fates[name]);
    const { store } = process;
    const it = tool({ run: (_, context) => run(context, name) });
    const time = { clock, timeoutMs: 0 };
    const server = createServer({
      name: "shop",
      version: "1",
      stateKeys,
      ...time,
      onError,
      store,
      ...options,
      tools: { it },
    });
    return { process, server };
  };
  const nodes = { a: process("a"), b: process("b"), c: process("c") };
  type Name = keyof typeof nodes;
  const made = ({ key, input, principal, ...parts }: Attempt) =>
    makeCall(
      "tools/call",
      { name: "it", ...(input !== undefined && { arguments: input }) },
      {
        ...parts,
        peer: { ...peer(), ...(principal !== undefined && { auth: { principal } }) },
        ...(key !== undefined && { meta: { "plugbay/key": key } }),
      },
    );

  return {
    clock,
    faults,
    shared,
    servers: { a: nodes.a.server, b: nodes.b.server },
    made,
    process: (name: Name): MortalStore => nodes[name].process,
    call: (name: Name, attempt: Attempt = {}): Promise<Outcome> => nodes[name].server(made(attempt).call),
    passing: passing(clock),
  };
}

/** Lets time pass until a promise is settled. */
export function passing(clock: ManualClock): <T>(promise: Promise<T>) => Promise<T> {
  return async (promise) => {
    let isOver = false;
    const end = (): void => {
      isOver = true;
    };
    promise.then(end, end);
    while (!isOver) await clock.advanceAsync(1_000);
    return promise;
  };
}

export const textOf = (outcome: Outcome): unknown => {
  const { content } = resultOf(outcome as never) as { content: readonly { text?: string }[] };
  return content[0]?.text;
};

/** Answers to all that was asked. */
export const all = (outcome: Outcome, answer: Json): JsonObject =>
  Object.fromEntries(Object.keys(askedBy(outcome).questions).map((key) => [key, answer]));

/** Two questions and three steps, with what was done on the way. */
export function trip() {
  const done: string[] = [];
  const run: Run = async ({ step, ask }, node) => {
    const did = (key: string) => step(key, () => done.push(key) && `${key} by ${node}`);
    const hold = await did("hold");
    const first = await ask("Charge?", form);
    const charge = await did("charge");
    const second = await ask("Receipt?", form);
    const mail = await did("mail");
    return JSON.stringify({ hold, first: first.ok, charge, second: second.ok, mail });
  };
  return { done, run };
}
