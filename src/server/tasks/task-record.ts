import type { JsonObject } from "../../json/json.ts";
import { briefly } from "../../protocol/brief-task.ts";
import type { Failure } from "../../protocol/errors.ts";
import type { Question } from "../../protocol/input.ts";
import type { ClientInfo } from "../../protocol/peer.ts";
import type { Outcome } from "../../protocol/service.ts";
import type { DetailedTask, Task } from "../../protocol/task.ts";
import type { CallToolParams, CallToolResult } from "../../protocol/tool.ts";
import type { Told } from "../runs/input-state.ts";

/** Whether a call of a tool becomes a task. */
export type TaskMode = "auto" | "required" | "never";

/** How tasks are kept and run. Times are in ms; `Infinity` switches a limit off. */
export interface TaskOptions {
  /** How long a call of an `auto` tool may take before it becomes a task. Default 250. */
  readonly afterMs?: number | undefined;
  /** How long a task is kept after its creation, and at least one minute after its end. Default 1 h. */
  readonly ttlMs?: number | undefined;
  /** The longest time a client may want one kept. Default 24 h. */
  readonly maxTtlMs?: number | undefined;
  /** How long clients are told to wait before they ask again. Default 1000. */
  readonly pollIntervalMs?: number | undefined;
  /** Tasks that may be under way in this process, those that wait for answers too. Default 100. */
  readonly maxRunning?: number | undefined;
  /** After this long another process goes on with the tasks of one that died. Default 15,000. */
  readonly leaseMs?: number | undefined;
}

/** A task as it is kept: all it takes to show it, and to go on with it in another process. */
export interface TaskRecord {
  readonly id: string;
  /** Who may see it: the principal that began it. Absent when nobody was authenticated. */
  readonly owner?: string;
  /** On whose account it is kept. */
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
  /** How far it is: what was reported last, which is the highest. It grows over all runs of the handler. */
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

/** How a task stands. It works while no question is open, and the last three are final. */
export type TaskState =
  | {
      readonly stage: "open";
      /** Open questions, by the key of the handler. */
      readonly questions: Readonly<Record<string, Question>>;
      /** Answers that have yet to reach the handler, by the same key. */
      readonly answers: Readonly<Record<string, Told>>;
      /** How often a question was put again because its answer was malformed. */
      readonly retries: Readonly<Record<string, number>>;
    }
  | { readonly stage: "completed"; readonly result: CallToolResult }
  | { readonly stage: "failed"; readonly failure: Failure }
  | { readonly stage: "cancelled" };

type OpenState = Extract<TaskState, { stage: "open" }>;

export type TaskEvent =
  /** The handler waits for these answers, and no others. */
  | { readonly type: "ask"; readonly questions: Readonly<Record<string, Question>> }
  /** The client has answered. What is not asked is left out. */
  | { readonly type: "answer"; readonly answers: Readonly<Record<string, Told>> }
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
      return answered(record, event.answers, now);
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

function answered(record: TaskRecord, given: Readonly<Record<string, Told>>, now: number): TaskRecord {
  const { state } = record;
  if (state.stage !== "open") return record;
  const answers = only(given, state.questions);
  if (Object.keys(answers).length === 0) return record;
  const questions = without(state.questions, answers);
  return { ...record, updated: now, state: { ...state, questions, answers: { ...state.answers, ...answers } } };
}

function taken(state: OpenState, good: readonly string[], bad: Readonly<Record<string, Question>>): OpenState {
  const retried = Object.keys(bad).map((key) => [key, (state.retries[key] ?? 0) + 1]);
  return {
    stage: "open",
    questions: { ...state.questions, ...bad },
    answers: without(state.answers, { ...Object.fromEntries(good.map((key) => [key, true])), ...bad }),
    retries: { ...state.retries, ...Object.fromEntries(retried) },
  };
}

/** What is kept of the call once nobody goes on with it. */
function over({ message: _, ...record }: TaskRecord, now: number): TaskRecord {
  return { ...record, params: { name: record.params.name }, meta: {}, updated: now };
}

/** The event that an outcome of the handler is. */
export function endOf(outcome: Outcome<"tools/call">): TaskEvent {
  if (outcome.kind === "complete") return { type: "finish", result: outcome.result };
  if (outcome.kind === "failed") return { type: "fail", failure: outcome.failure };
  return { type: "fail", failure: { code: "internal", message: "internal error" } };
}

/** Open questions by the key that clients know: one that was answered is never used again. */
export function openQuestions({ state }: TaskRecord): ReadonlyMap<string, { key: string; question: Question }> {
  if (state.stage !== "open") return new Map();
  return new Map(
    Object.entries(state.questions).map(([key, question]) => {
      const retries = state.retries[key] ?? 0;
      return [retries === 0 ? key : `${key}~${retries + 1}`, { key, question }];
    }),
  );
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

/** The members of `all` whose keys are in `keys`. */
function only<T>(all: Readonly<Record<string, T>>, keys: object): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(all).filter(([key]) => Object.hasOwn(keys, key)));
}

function without<T>(all: Readonly<Record<string, T>>, keys: object): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(all).filter(([key]) => !Object.hasOwn(keys, key)));
}
