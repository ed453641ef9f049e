import { canonicalText } from "../../json/canonical.ts";
import { asJson, type Json } from "../../json/json.ts";
import { McpError, toError } from "../../protocol/errors.ts";
import { toLimitError } from "../../protocol/limit-error.ts";
import { bytesOf, isShare } from "../../protocol/shares.ts";
import type { AnySchema } from "../../schema/infer.ts";
import { isUnavailable } from "../../store/store.ts";
import { type Answered, type AskOptions, accepted, type Form, prepareForm } from "../ask.ts";
import { type PreparedQuestion, requireCapability } from "../runs/input-state.ts";
import { newId } from "../runs/ticket.ts";
import { createBell, every, type TaskContext } from "./task-events.ts";
import { isPast, type OutsideQuestion, type TaskEvent, type TaskRecord } from "./task-record.ts";
import { unknownTask } from "./task-store.ts";

/** Questions that are put to the client of a task from outside of its handler. */
export interface OutsideQuestions {
  /** Resolves to the checked answer. Rejects when it is declined, when the task ends first, and when this process closes. */
  ask(id: string, form: Form<AnySchema>, options?: AskOptions): Promise<unknown>;
  /** Who waits here hears that the server is closing. Resolves when all of them have. */
  close(): Promise<void>;
}

/** How long after a failure the store is read again. */
const RETRY_MS = 1_000;

/**
 * The question and its answer are members of the task's record, so whichever process takes the answer, the one that asked
 * finds it there. A question without a key of its own is gone with its `ask`; one with a key stays, with its answer, until
 * the task is over.
 */
export function createOutsideQuestions(context: TaskContext): OutsideQuestions {
  const { records, shares } = context;
  const closing = new AbortController();
  const waiting = new Set<Promise<unknown>>();

  const ask = async (id: string, form: Form<AnySchema>, given: string | undefined): Promise<unknown> => {
    const key = given ?? newId();
    const prepared = prepareForm(form, given);
    await prepared.prepare?.();
    const record = await records.read(id);
    if (record === undefined) throw unknownTask();
    const share = shares.take(record.account, { parkedCalls: 1 });
    if (!isShare(share)) throw toLimitError(share);
    const asking: Asking = { context, record, key, prepared, closing: closing.signal };
    try {
      await put(asking);
      return accepted(await answerTo(asking), form.message);
    } finally {
      if (given === undefined) await withdraw(asking);
      share.release();
    }
  };

  return {
    ask(id, form, { key } = {}) {
      const answer = ask(id, form, key);
      waiting.add(answer);
      const forget = (): void => void waiting.delete(answer);
      answer.then(forget, forget);
      return answer;
    },
    async close() {
      closing.abort();
      await Promise.allSettled(waiting);
    },
  };
}

/** One question that somebody waits for in this process. */
interface Asking {
  readonly context: TaskContext;
  /** The task as it was before it was asked. */
  readonly record: TaskRecord;
  readonly key: string;
  readonly prepared: PreparedQuestion<Answered>;
  /** Aborts when this process closes. */
  readonly closing: AbortSignal;
}

async function change({ context, record: { id } }: Asking, event: TaskEvent): Promise<void> {
  const { kind } = await context.records.change(id, event);
  if (kind === "changed") await context.events.publish(id, "changed");
}

/** Puts the question, unless the same one was put under its key before. */
async function put({ context, record: { id }, key, prepared: { question } }: Asking): Promise<void> {
  const { records, shares, events } = context;
  const changed = await records.change(id, async (record) => {
    requireCapability(question, record.peer.capabilities);
    const short = shares.excess({ heldBytes: bytesOf(JSON.stringify(record)) + bytesOf(JSON.stringify(question)) });
    if (short !== undefined) throw toLimitError(short);
    return { type: "ask-outside", key, question };
  });
  if (changed.kind === "unknown" || changed.kind === "fenced") throw unknownTask();
  const { record, kind } = changed;
  const asked = askedOf(record, key);
  if (asked === undefined) throw new McpError("invalid-params", `task ${id} is ${record.state.stage} already`);
  if (canonicalText(asJson(asked.question)) !== canonicalText(asJson(question))) {
    throw new McpError("invalid-definition", `the question key ${key} of task ${id} is used by another question`);
  }
  if (kind === "changed") await events.publish(id, "changed");
}

/** Nobody waits any more. What cannot be changed now goes with the task. */
async function withdraw(asking: Asking): Promise<void> {
  try {
    await change(asking, { type: "withdraw", key: asking.key });
  } catch (error) {
    asking.context.env.errors.failureOf(error, "tasks/update");
  }
}

/** Resolves to the answer once there is a good one. */
async function answerTo(asking: Asking): Promise<Answered> {
  const bell = createBell();
  const stop = listen(asking, bell.ring);
  try {
    for (;;) {
      const rung = bell.next();
      if (asking.closing.aborted) throw new McpError("cancelled", "the server is closing");
      const answered = await look(asking, bell.ring);
      if (answered !== undefined) return answered;
      if (isPast(asking.record, asking.context.env.now())) throw new McpError("timeout", "no answer came in time");
      await rung;
    }
  } finally {
    stop();
  }
}

/** Rings whenever the task may have changed, its time is over, or this process closes. */
function listen({ context, record, closing }: Asking, ring: () => void): () => void {
  const { limits, store, events, env } = context;
  const isRequestBound = env.clock.requestBound === true;
  const lookMs = isRequestBound ? limits.pollIntervalMs : limits.leaseMs;
  // News may be lost with the store, and reach nobody between requests.
  const stopLooking = store.durable || isRequestBound ? every(env.clock, lookMs, async () => ring()) : undefined;
  const unwatch = events.watch(record.id, ring);
  const totalMs = record.ttlMs === null ? 0 : Math.max(1, record.created + record.ttlMs - env.now());
  const deadline = env.deadlines.start({ idleMs: 0, totalMs }, ring);
  closing.addEventListener("abort", ring);
  return () => {
    stopLooking?.();
    unwatch();
    deadline.stop();
    closing.removeEventListener("abort", ring);
  };
}

/** The answer, if it is there. One that is malformed is asked for again; a store that is away is read again later. */
async function look(asking: Asking, ring: () => void): Promise<Answered | undefined> {
  const { context, record, key, prepared } = asking;
  try {
    const { answer, retries } = requireOpen(record.id, await context.records.read(record.id), key);
    if (answer === undefined) return undefined;
    const read = await readAnswer(prepared, answer.answer);
    if (read === "malformed") await change(asking, { type: "repeat-outside", key, retries });
    return read === "malformed" ? undefined : read;
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    context.env.clock.after(RETRY_MS, ring);
    return undefined;
  }
}

async function readAnswer(prepared: PreparedQuestion<Answered>, answer: Json): Promise<Answered | "malformed"> {
  try {
    return await prepared.read(answer);
  } catch (error) {
    if (error instanceof McpError && error.code === "invalid-params") return "malformed";
    throw error;
  }
}

function askedOf({ state }: TaskRecord, key: string): OutsideQuestion | undefined {
  const { outside = {} } = state.stage === "open" ? state : {};
  return Object.hasOwn(outside, key) ? outside[key] : undefined;
}

/** The question of a task that is under way. Throws when the task has ended without an answer to it. */
function requireOpen(id: string, record: TaskRecord | undefined, key: string): OutsideQuestion {
  if (record === undefined) throw unknownTask();
  const { state } = record;
  if (state.stage === "failed") throw toError(state.failure);
  const asked = askedOf(record, key);
  if (asked === undefined)
    throw new McpError("cancelled", `task ${id} is ${state.stage}: its question was not answered`);
  return asked;
}
