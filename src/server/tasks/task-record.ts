import type { JsonObject } from "../../json/json.ts";
import { briefly } from "../../protocol/brief-task.ts";
import type { Failure } from "../../protocol/errors.ts";
import type { Question } from "../../protocol/input.ts";
import type { ClientInfo } from "../../protocol/peer.ts";
import type { Outcome } from "../../protocol/service.ts";
import type { DetailedTask, Task } from "../../protocol/task.ts";
import type { CallToolParams, CallToolResult } from "../../protocol/tool.ts";
import type { GivenAnswer } from "../runs/input-state.ts";

/** Whether a call of a tool becomes a task. */
export type TaskMode = "auto" | "required" | "never";

/** How tasks are retained and run. Times are in milliseconds; `Infinity` disables a limit. */
export interface TaskOptions {
  /** How long a call of an `auto` tool may take before it becomes a task. Default 250. */
  readonly afterMs?: number | undefined;
  /** How long a task is retained after its creation, and at least one minute after its end. Default 3,600,000 (1 h). */
  readonly ttlMs?: number | undefined;
  /** The longest retention that a client may ask for. Default 86,400,000 (24 h). */
  readonly maxTtlMs?: number | undefined;
  /** The polling interval that clients are told. Default 1000. */
  readonly pollIntervalMs?: number | undefined;
  /** Tasks that may be under way in this process, those that wait for answers too. Default 100. */
  readonly maxRunning?: number | undefined;
  /** After this time another process continues the tasks of one that has ended. Default 15,000. */
  readonly leaseMs?: number | undefined;
}

/** The record of a task: all that is needed to show it, and to continue it in another process. */
export interface TaskRecord {
  readonly id: string;
  /** The owner: the principal that began it. Absent for an anonymous caller. */
  readonly owner?: string;
  /** The account that it counts for. */
  readonly account: string;
  /** What that principal needs to touch it. Absent when it takes nothing. */
  readonly scopes?: readonly string[];
  /** Whose servers know it. */
  readonly audience: string;
  readonly params: CallToolParams;
  /** `_meta` of the call. */
  readonly meta: JsonObject;
  readonly peer: ClientInfo;
  /** In ms of the time of day. */
  readonly created: number;
  readonly updated: number;
  /** Null: for ever. */
  readonly ttlMs: number | null;
  readonly message?: string;
  /** The highest progress reported so far. It increases over all runs of the handler. */
  readonly progress?: Progress;
  readonly state: TaskState;
}

/** What a handler reports of how far it is. */
export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** The params of a progress notification of our own making. */
export function asProgress(params: JsonObject): Progress {
  return params as unknown as Progress;
}

/** The state of a task. It is working while no question is open, and the last three stages are final. */
export type TaskState =
  | {
      readonly stage: "open";
      /** Open questions, by the key of the handler. */
      readonly questions: Readonly<Record<string, Question>>;
      /** Answers that have yet to reach the handler, by the same key. */
      readonly answers: Readonly<Record<string, GivenAnswer>>;
      /** How often a question was put again because its answer was malformed. */
      readonly retries: Readonly<Record<string, number>>;
      /** What was asked from outside of the handler, by its key. Absent until something is. */
      readonly outside?: Readonly<Record<string, OutsideQuestion>>;
    }
  | { readonly stage: "completed"; readonly result: CallToolResult }
  | { readonly stage: "failed"; readonly failure: Failure }
  | { readonly stage: "cancelled" };

/** A question that was asked from outside of the handler, by `server.task(id).ask`. */
export interface OutsideQuestion {
  readonly question: Question;
  /** How often it was put again because its answer was malformed. */
  readonly retries: number;
  /** Absent while the question is open. */
  readonly answer?: GivenAnswer;
}

type OpenState = Extract<TaskState, { stage: "open" }>;

export type TaskEvent =
  /** The handler waits for these answers, and no others. */
  | { readonly type: "ask"; readonly questions: Readonly<Record<string, Question>> }
  /** The client has answered. What is not asked is left out. */
  | {
      readonly type: "answer";
      readonly answers: Readonly<Record<string, GivenAnswer>>;
      readonly outside?: Readonly<Record<string, GivenAnswer>>;
    }
  /** Somebody asks from outside of the handler. A key that was used before changes nothing. */
  | { readonly type: "ask-outside"; readonly key: string; readonly question: Question }
  /** The answer to such a question is malformed: it is put again, unless it was already. */
  | { readonly type: "repeat-outside"; readonly key: string; readonly retries: number }
  /** Nobody waits for the answer to such a question any more. */
  | { readonly type: "withdraw"; readonly key: string }
  /** Answers have reached the handler; those that were malformed are asked for again. */
  | {
      readonly type: "take";
      readonly good: readonly string[];
      readonly bad: Readonly<Record<string, Question>>;
    }
  | { readonly type: "report"; readonly progress: Progress }
  | { readonly type: "finish"; readonly result: CallToolResult }
  | { readonly type: "fail"; readonly failure: Failure }
  | { readonly type: "cancel" };

export const untouched: TaskState = { stage: "open", questions: {}, answers: {}, retries: {} };

/** The record after an event; the same one when it changes nothing. What is final ignores every event. */
export function change(record: TaskRecord, event: TaskEvent, now: number): TaskRecord {
  const { state } = record;
  if (state.stage !== "open") return record;
  switch (event.type) {
    case "ask": {
      const questions = without(event.questions, state.answers);
      const isSame = JSON.stringify(questions) === JSON.stringify(state.questions);
      return isSame ? record : { ...record, updated: now, state: { ...state, questions } };
    }
    case "answer":
      return answered(record, event, now);
    case "ask-outside":
    case "repeat-outside":
    case "withdraw": {
      const { outside: before = {} } = state;
      const outside = changedOutside(before, event);
      return outside === before ? record : { ...record, updated: now, state: { ...state, outside } };
    }
    case "take":
      return { ...record, updated: now, state: taken(state, event.good, event.bad) };
    case "report":
      return reported(record, event.progress, now);
    case "finish":
      return { ...over(record, now), state: { stage: "completed", result: event.result } };
    case "fail":
      return {
        ...over(record, now),
        message: event.failure.message,
        state: { stage: "failed", failure: event.failure },
      };
    case "cancel":
      return { ...over(record, now), state: { stage: "cancelled" } };
  }
}

/** Progress that is not beyond what was reported before is what a handler that is run again repeats. */
function reported(record: TaskRecord, progress: Progress, now: number): TaskRecord {
  if (record.progress !== undefined && progress.progress <= record.progress.progress) return record;
  const { message = record.message } = progress;
  if (message === undefined || message === record.message) return { ...record, progress };
  return { ...record, progress, message, updated: now };
}

function answered(record: TaskRecord, given: Extract<TaskEvent, { type: "answer" }>, now: number): TaskRecord {
  const { state } = record;
  if (state.stage !== "open") return record;
  const answers = only(given.answers, state.questions);
  const told = Object.entries(given.outside ?? {}).flatMap(([key, answer]) => {
    const asked = own(state.outside, key);
    return asked === undefined || asked.answer !== undefined ? [] : [[key, { ...asked, answer }] as const];
  });
  if (Object.keys(answers).length === 0 && told.length === 0) return record;
  const questions = without(state.questions, answers);
  const outside = told.length > 0 && { outside: { ...state.outside, ...Object.fromEntries(told) } };
  const next = { ...state, questions, answers: { ...state.answers, ...answers }, ...outside };
  return { ...record, updated: now, state: next };
}

/** The same when the event changes nothing. */
function changedOutside(
  all: NonNullable<OpenState["outside"]>,
  event: Extract<TaskEvent, { type: "ask-outside" | "repeat-outside" | "withdraw" }>,
): NonNullable<OpenState["outside"]> {
  const { key } = event;
  const asked = own(all, key);
  if (event.type === "ask-outside") {
    return asked === undefined ? { ...all, [key]: { question: event.question, retries: 0 } } : all;
  }
  if (asked === undefined) return all;
  if (event.type === "withdraw") return without(all, { [key]: true });
  if (asked.answer === undefined || asked.retries !== event.retries) return all;
  return { ...all, [key]: { question: asked.question, retries: asked.retries + 1 } };
}

function taken(state: OpenState, good: readonly string[], bad: Readonly<Record<string, Question>>): OpenState {
  const retried = Object.keys(bad).map((key) => [key, (state.retries[key] ?? 0) + 1]);
  return {
    ...state,
    questions: { ...state.questions, ...bad },
    answers: without(state.answers, { ...Object.fromEntries(good.map((key) => [key, true])), ...bad }),
    retries: { ...state.retries, ...Object.fromEntries(retried) },
  };
}

/** The part of the call that is retained after the end of the task. */
function over({ message: _, ...record }: TaskRecord, now: number): TaskRecord {
  return { ...record, params: { name: record.params.name }, meta: {}, updated: now };
}

/** The event that an outcome of the handler is. */
export function endOf(outcome: Outcome<"tools/call">): TaskEvent {
  if (outcome.kind === "complete") return { type: "finish", result: outcome.result };
  if (outcome.kind === "failed") return { type: "fail", failure: outcome.failure };
  return { type: "fail", failure: { code: "internal", message: "internal error" } };
}

/** A question that a client can answer. */
interface OpenQuestion {
  readonly key: string;
  readonly question: Question;
  /** Whether it was asked from outside of the handler: keys of those are of their own. */
  readonly isOutside: boolean;
}

/** Open questions by the key that clients know: one that was answered is never used again. */
export function openQuestions({ state }: TaskRecord): ReadonlyMap<string, OpenQuestion> {
  if (state.stage !== "open") return new Map();
  const asked = Object.entries(state.questions).map(([key, question]) => {
    return [nameOf(key, state.retries[key] ?? 0), { key, question, isOutside: false }] as const;
  });
  const outside = Object.entries(state.outside ?? {}).flatMap(([key, { question, retries, answer }]) => {
    return answer === undefined
      ? [[`outside:${nameOf(key, retries)}`, { key, question, isOutside: true }] as const]
      : [];
  });
  return new Map<string, OpenQuestion>([...outside, ...asked]);
}

function nameOf(key: string, retries: number): string {
  return retries === 0 ? key : `${key}~${retries + 1}`;
}

/** Whether its time is over. A task that runs goes on all the same. */
export function isPast({ created, ttlMs }: TaskRecord, now: number): boolean {
  return ttlMs !== null && created + ttlMs <= now;
}

/** What clients see of a record. */
export function detailed(record: TaskRecord, pollIntervalMs: number): DetailedTask {
  const { id, created, updated, ttlMs, message, state } = record;
  const task = {
    taskId: id,
    ...(message !== undefined && { statusMessage: message }),
    createdAt: new Date(created).toISOString(),
    lastUpdatedAt: new Date(updated).toISOString(),
    ttlMs,
    pollIntervalMs,
  };
  switch (state.stage) {
    case "open": {
      const open = [...openQuestions(record)].map(([key, { question }]) => [key, question] as const);
      if (open.length === 0) return { ...task, status: "working" };
      return { ...task, status: "input_required", questions: Object.fromEntries(open) };
    }
    case "completed":
      return { ...task, status: "completed", result: state.result };
    case "failed":
      return { ...task, status: "failed", failure: state.failure };
    case "cancelled":
      return { ...task, status: "cancelled" };
  }
}

export function brief(record: TaskRecord, pollIntervalMs: number): Task {
  return briefly(detailed(record, pollIntervalMs));
}

function own<T>(all: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return all !== undefined && Object.hasOwn(all, key) ? all[key] : undefined;
}

/** The members of `all` whose keys are in `keys`. */
function only<T>(all: Readonly<Record<string, T>>, keys: object): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(all).filter(([key]) => Object.hasOwn(keys, key)));
}

function without<T>(all: Readonly<Record<string, T>>, keys: object): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(all).filter(([key]) => !Object.hasOwn(keys, key)));
}
