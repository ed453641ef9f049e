import type { JsonObject } from "../../json/json.ts";
import { type Failure, McpError, toError } from "../../protocol/errors.ts";
import type { Question, QuestionAnswer } from "../../protocol/input.ts";
import type { Result } from "../../protocol/methods.ts";
import { isLegacy } from "../../protocol/revision.ts";
import { hasScopes } from "../../protocol/scopes.ts";
import type { Call, Outcome } from "../../protocol/service.ts";
import { tasksExtension } from "../../protocol/task.ts";
import { fromBase64Url, toBase64Url } from "../../std/base64.ts";
import { type Arrival, digestOfQuestion, type GivenAnswer, type InputState } from "../runs/input-state.ts";
import type { TaskContext } from "./task-events.ts";
import { brief, detailed, openQuestions, type TaskEvent, type TaskMode, type TaskRecord } from "./task-record.ts";
import { unknownTask } from "./task-store.ts";

type TaskMethod = "tasks/get" | "tasks/update" | "tasks/cancel" | "tasks/list" | "tasks/result";

/** What clients can do with tasks, in whichever process they run. */
export type TaskMethods = { readonly [M in TaskMethod]: (call: Call<M>) => Promise<Outcome<M>> };

/** Events of a running task in the process that runs it, which come before those from the store. */
export interface LocalTasks {
  answered(id: string): void;
  ended(id: string): void;
}

const MAX_PAGE = 100;

export function createTaskMethods(context: TaskContext, local: LocalTasks): Omit<TaskMethods, "tasks/result"> {
  const { records, events, limits, env } = context;

  return {
    async "tasks/get"(call) {
      const record = await findTask(context, call, call.params.taskId);
      await context.adopt?.(record.id, call);
      return { kind: "complete", result: detailed(record, limits.pollIntervalMs) };
    },
    async "tasks/update"(call) {
      const { taskId, inputResponses } = call.params;
      await findTask(context, call, taskId);
      await answerTask(context, local, taskId, inputResponses);
      await context.adopt?.(taskId, call);
      return { kind: "complete", result: {} };
    },
    async "tasks/cancel"(call) {
      const { taskId } = call.params;
      await findTask(context, call, taskId);
      const changed = await records.change(taskId, { type: "cancel" });
      if (changed.kind !== "changed" && changed.kind !== "same") throw unknownTask();
      const { record } = changed;
      if (changed.kind === "changed") {
        local.ended(taskId);
        await events.publish(taskId, "cancelled");
      } else if (isLegacy(call.peer.revision)) {
        throw new McpError("invalid-params", `the task is ${record.state.stage} already`);
      }
      return { kind: "complete", result: brief(record, limits.pollIntervalMs) };
    },
    async "tasks/list"(call) {
      const { auth } = call.peer;
      requireTasks(call);
      // The tasks of an anonymous caller have no owner.
      if (auth === undefined) throw new McpError("method-not-found", `unknown method ${call.method}`);
      const { tasks, next } = await records.list(
        auth.principal,
        Math.min(env.pageSize, MAX_PAGE),
        afterOf(call.params.cursor),
      );
      const result: Result<"tasks/list"> = {
        tasks: tasks
          .filter((record) => mayTouch(record, call))
          .map((record) => legacyBrief(record, limits.pollIntervalMs)),
        ...(next !== undefined && { nextCursor: toBase64Url(new TextEncoder().encode(`task:${next}`)) }),
      };
      return { kind: "complete", result };
    },
  };
}

/** Throws `missing-capability` when the caller did not say that it knows tasks. */
export function requireTasks({ tasks, method }: Call): void {
  if (tasks === undefined) throw toError(missingTasks(`cannot answer ${method}`));
}

const taskId = /^[\w-]{16,128}$/;

/**
 * The task, if the caller may use it. A task of another caller or server is reported as unknown. Throws `forbidden`
 * when the caller owns it and lacks the scopes of the call that began it.
 */
export async function findTask({ records, env }: TaskContext, call: Call, id: string): Promise<TaskRecord> {
  requireTasks(call);
  const record = taskId.test(id) ? await records.read(id) : undefined;
  if (record?.audience !== env.audience || record.owner !== call.peer.auth?.principal) throw unknownTask();
  if (!mayTouch(record, call)) throw forbidden(record);
  return record;
}

/** Whether the owner of a task calls with the scopes that it takes. */
function mayTouch({ scopes = [] }: TaskRecord, { peer }: Call): boolean {
  return hasScopes(peer.auth, scopes);
}

function forbidden({ scopes = [] }: TaskRecord): McpError {
  return new McpError("forbidden", "the task takes scopes that were not granted", {
    data: { reason: "forbidden", scopes },
  });
}

/** Answers questions of a task, by the keys that clients know. What is not asked is left out. */
export async function answerTask(
  { records, events }: TaskContext,
  local: LocalTasks,
  id: string,
  given: Readonly<Record<string, QuestionAnswer>>,
): Promise<void> {
  const { kind } = await records.change(id, async (record): Promise<TaskEvent> => {
    const answers: [string, GivenAnswer][] = [];
    const outside: [string, GivenAnswer][] = [];
    for (const [name, { key, question, isOutside }] of openQuestions(record)) {
      const answer = Object.hasOwn(given, name) ? given[name] : undefined;
      if (answer === undefined) continue;
      (isOutside ? outside : answers).push([key, { answer, asked: await digestOfQuestion(question) }]);
    }
    return { type: "answer", answers: Object.fromEntries(answers), outside: Object.fromEntries(outside) };
  });
  if (kind === "unknown") throw unknownTask();
  if (kind !== "changed") return;
  local.answered(id);
  await events.publish(id, "answered");
}

/** Only 2025-11-25 lists tasks, and to it a tool that failed is a task that did. */
function legacyBrief(record: TaskRecord, pollIntervalMs: number): Result<"tasks/list">["tasks"][number] {
  const { state } = record;
  const task = brief(record, pollIntervalMs);
  return state.stage === "completed" && state.result.isError ? { ...task, status: "failed" } : task;
}

function afterOf(cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  const bytes = fromBase64Url(cursor);
  const [, id] = (bytes && /^task:([\w-]+)$/.exec(new TextDecoder().decode(bytes))) ?? [];
  if (id === undefined)
    throw new McpError("invalid-params", "unknown cursor", { data: { cursor } satisfies JsonObject });
  return id;
}

interface CheckedAnswers {
  readonly good: readonly Arrival[];
  /** Questions whose answers are malformed, or were given to another question. */
  readonly bad: Readonly<Record<string, Question>>;
}

/** Validates answers to open questions of the handler. Other answers are ignored. */
export async function checkAnswers(
  inputState: InputState,
  answers: Readonly<Record<string, GivenAnswer>>,
): Promise<CheckedAnswers> {
  const asked = inputState.questions();
  const good: Arrival[] = [];
  const bad: Record<string, Question> = {};
  for (const [key, given] of Object.entries(answers)) {
    const question = asked[key];
    if (question === undefined) continue;
    const fits = given.asked === (await digestOfQuestion(question));
    const arrivals = fits ? await inputState.read(new Map([[key, given]])).catch(() => []) : [];
    if (arrivals.length === 0) bad[key] = question;
    good.push(...arrivals);
  }
  return { good, bad };
}

/** The outcome for a caller that asks for a task where none is possible, or does not support one that is required. */
export function refusedTerms(task: TaskMode, { params, peer }: Call<"tools/call">): Outcome<"tools/call"> {
  const { name } = params;
  if (task === "never") return failed({ code: "method-not-found", message: `tool ${name} cannot be run as a task` });
  if (!isLegacy(peer.revision)) return failed(missingTasks(`tool ${name} runs as a task`));
  return failed({ code: "method-not-found", message: `tool ${name} must be run as a task` });
}

/** The failure of a request for which its caller would have to know tasks. */
function missingTasks(reason: string): Failure {
  return {
    code: "missing-capability",
    message: `${reason}: the client did not declare ${tasksExtension}`,
    data: { requiredCapabilities: { extensions: { [tasksExtension]: {} } } },
  };
}

function failed(failure: Failure): Outcome<"tools/call"> {
  return { kind: "failed", failure };
}
