import type { JsonObject } from "../../json/json.ts";
import { type Shortage, toLimitFailure } from "../../protocol/budget.ts";
import { McpError } from "../../protocol/errors.ts";
import { callKey } from "../../protocol/meta.ts";
import { abortReason, type Call, type Outcome } from "../../protocol/service.ts";
import type { Task } from "../../protocol/task.ts";
import type { CallToolParams } from "../../protocol/tool.ts";
import { holding } from "../../std/hold.ts";
import { isUnavailable } from "../../store/store.ts";
import type { Environment } from "../environment.ts";
import { createDurableRuns } from "../runs/durable-run.ts";
import type { Execution, Job } from "../runs/execution.ts";
import { bindingOf } from "../runs/ticket.ts";
import type { ServerTask } from "../server-tasks.ts";
import { createHeldTasks } from "./held-tasks.ts";
import { createOutsideQuestions } from "./outside-questions.ts";
import { createRecovery } from "./recovery.ts";
import { createTaskResult } from "./result.ts";
import { createRunningTasks } from "./running-tasks.ts";
import { createServerTask } from "./server-task.ts";
import { createTaskEvents, every, limitsOf, type TaskContext } from "./task-events.ts";
import { createTaskMethods, refusedTerms, type TaskMethods } from "./task-methods.ts";
import { brief, type TaskMode, type TaskOptions, type TaskRecord } from "./task-record.ts";
import { type Prepared, type TaskJob, type TaskRun, taskJob, type Watch } from "./task-run.ts";
import { createTaskRecords } from "./task-store.ts";
import { type Watching, watchTasks } from "./watch-tasks.ts";

type ToolCall = Call<"tools/call">;
type ToolOutcome = Outcome<"tools/call">;

/** Runs tools as tasks, and answers for tasks. Loaded when that is first needed. */
export interface TaskManager {
  /** There are tools that run as tasks: continues those of processes that have ended. */
  begin(): void;
  /** Runs a tool for a caller that knows tasks. */
  call(call: ToolCall, job: Job, mode: TaskMode): Promise<ToolOutcome>;
  /** The outcome for a caller that asks for a task where none is possible, or does not support one that is required. */
  refuse(call: ToolCall, mode: TaskMode): ToolOutcome;
  /** Answers a method of tasks. */
  answer(call: Call): Promise<Outcome>;
  /** Finds the tasks that a caller may watch. */
  watch(call: Call, ids: readonly string[]): Promise<Watching>;
  /** Changes a task on behalf of the server's author. */
  handle(id: string): Promise<ServerTask>;
  /** Leaves what runs here to other processes. Never rejects. */
  close(): Promise<void>;
}

export interface TaskManagerOptions {
  readonly env: Environment;
  readonly limits: TaskOptions | undefined;
  /** The job of a task that began elsewhere. Undefined when no tool here can continue it. */
  prepare(params: CallToolParams): Promise<Prepared | undefined>;
}

/** How long after a failure the store is tried again. */
const RETRY_MS = 15_000;

export function createTaskManager({ env, limits, prepare }: TaskManagerOptions): TaskManager {
  let engine: Promise<TaskEngine> | undefined;
  let isBegun = false;
  let isClosed = false;

  /** After a failure, the store may be available again later. */
  const load = (): Promise<TaskEngine> => {
    engine ??= createTaskEngine({ env, limits: limitsOf(limits), prepare }).catch((error: unknown) => {
      engine = undefined;
      throw error;
    });
    return engine;
  };

  const ask = async <O extends Outcome>(call: Call, answer: (engine: TaskEngine) => O | Promise<O>) => {
    try {
      return await answer(await load());
    } catch (error) {
      return orRetryLater(error, call, env);
    }
  };

  const followTask = (): void => {
    if (isClosed) return;
    load().catch((error: unknown) => {
      env.errors.failureOf(error, "tasks/get");
      env.clock.after(RETRY_MS, followTask);
    });
  };

  return {
    begin() {
      if (!isBegun) followTask();
      isBegun = true;
    },
    call: (call, job, mode) => ask(call, (engine) => engine.call(call, taskJob(job), mode)),
    refuse: (call, mode) => refusedTerms(mode, call),
    answer: (call) => ask(call, (engine) => engine.answer(call)),
    watch: async (call, ids) => watchTasks((await load()).context, call, ids),
    handle: async (id) => (await load()).handle(id),
    async close() {
      isClosed = true;
      await engine?.then((it) => it.close()).catch(() => {});
    },
  };
}

const STORE_RETRY_MS = 1_000;

/** The failure for a caller while the store is unavailable, with the time to retry. Throws any other error. */
function orRetryLater(error: unknown, { method }: Call, { errors }: Environment): Outcome & { kind: "failed" } {
  if (!isUnavailable(error)) throw error;
  const failure = errors.failureOf(error, method);
  const data = { ...(failure.data as JsonObject), retryAfterMs: STORE_RETRY_MS };
  return { kind: "failed", failure: { ...failure, message: "tasks cannot be reached now", data } };
}

/** What runs tasks once the store is there. */
interface TaskEngine {
  readonly context: TaskContext;
  /** Runs a tool for a caller that supports tasks: as a task at once, or when it takes long. */
  call(call: ToolCall, job: TaskJob, mode: TaskMode): ToolOutcome | Promise<ToolOutcome>;
  answer(call: Call): Promise<Outcome>;
  handle(id: string): ServerTask;
  close(): Promise<void>;
}

interface TaskEngineOptions extends Pick<TaskManagerOptions, "env" | "prepare"> {
  readonly limits: TaskContext["limits"];
}

/**
 * Resolves when events of tasks are received. Where the store outlives this process, it continues the tasks of others.
 */
async function createTaskEngine({ env, limits, prepare }: TaskEngineOptions): Promise<TaskEngine> {
  const isRequestBound = env.clock.requestBound === true;
  // What is begun in a request that the platform would end is not begun.
  const adopt: TaskContext["adopt"] = async (id, { http }) =>
    void (http?.waitUntil && (await recovery.adopt(id, http)));
  const context = await createTaskContext(env, limits, isRequestBound ? adopt : undefined);
  const { store } = context;
  const running = createRunningTasks(context);
  const questions = createOutsideQuestions(context);

  const asTask = (record: TaskRecord): ToolOutcome => ({ kind: "task", task: brief(record, limits.pollIntervalMs) });

  /** The task that the same call began before, by its name. */
  const earlier = async (call: ToolCall): Promise<TaskRecord | undefined> => (await taskNames(context, call))?.find();

  /** Records the idempotency key of a call for its task. Resolves with another task of the same key. */
  const nameAfter = async (call: ToolCall, run: TaskRun): Promise<TaskRecord | undefined> => {
    try {
      return await (await taskNames(context, call))?.claim(run.task);
    } catch (error) {
      await run.discard();
      throw error;
    }
  };

  const atOnce = async (call: ToolCall, job: TaskJob): Promise<ToolOutcome> => {
    const known = await earlier(call);
    if (known !== undefined) return asTask(known);
    const run = await running.begin(call, job);
    if ("limit" in run) return tooMany(run, limits);
    const first = await nameAfter(call, run);
    if (first === undefined) run.start(job);
    else await run.discard();
    return first === undefined ? { kind: "task", task: run.task } : asTask(first);
  };

  const firstAsItIs = createPromotion({
    env,
    afterMs: limits.afterMs,
    async promote(execution, job) {
      const call = execution.call as ToolCall;
      // A call that cannot become a task continues as a call.
      const run = await running.begin(call, job);
      if ("limit" in run) return;
      // Once other processes can continue the task, a repeated call must find it.
      const first = await nameAfter(call, run);
      if (first !== undefined || !run.takeOver(execution, job)) await run.discard();
    },
  });

  const asItIs = async (call: ToolCall, job: TaskJob): Promise<ToolOutcome> => {
    const known = await earlier(call);
    return known === undefined ? firstAsItIs(call, job) : asTask(known);
  };

  const recovery = createRecovery({
    context,
    prepare,
    // A run whose request has ended is still there, but its lease is not.
    isTaken: (id) => (running.has(id) && !isRequestBound) || running.isFull(),
    resume: ({ record, run, job }, http) => running.resume({ context, record, run, http }).start(job),
  });
  const isWatched = store.durable && !isRequestBound;
  const stop = isWatched ? every(env.clock, limits.leaseMs, recovery.recover) : () => {};
  if (isWatched) void recovery.recover();

  return {
    context,
    handle: (id) => createServerTask({ context, local: running, questions, prepare }, id),
    answer: createAnswering({
      ...createTaskMethods(context, running),
      "tasks/result": createTaskResult(context, running),
    }),
    call(call, job, mode) {
      const isTask = mode === "required" || call.tasks?.wanted === true;
      if (isRequestBound && call.http !== undefined && call.http.waitUntil === undefined) {
        return isTask ? noContext(call) : (env.runner.run(call, job) as ToolOutcome | Promise<ToolOutcome>);
      }
      if (isTask) return atOnce(call, job);
      return isNamed(call) ? asItIs(call, job) : firstAsItIs(call, job);
    },
    async close() {
      stop();
      await questions.close();
      await holding(context.env.clock, running.close());
      await context.events.close();
    },
  };
}

/** Resolves when events of tasks are received. */
async function createTaskContext(
  env: Environment,
  limits: TaskContext["limits"],
  adopt: TaskContext["adopt"],
): Promise<TaskContext> {
  const [store, shares] = await Promise.all([env.store.load(), env.shares.load()]);
  const sizes = shares.createMap();
  const held = createHeldTasks(store, env);
  const onWritten = ({ id, state }: TaskRecord, heldBytes: number): void => {
    sizes.get(id)?.resize({ ...(state.stage === "open" && { runningCalls: 1 }), tasks: 1, heldBytes });
  };
  const isAlone = !store.durable && env.clock.requestBound !== true;
  return {
    env,
    store,
    runs: createDurableRuns({ ...env, shares, leaseMs: limits.leaseMs, isAlone, waitsForStore: true }),
    records: createTaskRecords(store, env, { held, onWritten }),
    held,
    shares,
    sizes,
    limits,
    events: await createTaskEvents(store, env.clock),
    adopt,
  };
}

function createAnswering(methods: TaskMethods): TaskEngine["answer"] {
  const table = new Map<string, (call: never) => Promise<Outcome>>(Object.entries(methods));
  return async (call) => {
    const method = table.get(call.method);
    if (method === undefined) throw new McpError("method-not-found", `unknown method ${call.method}`);
    return method(call as never);
  };
}

/** The error for a caller at its limit of tasks. */
function tooMany(short: Shortage, { maxRunning, pollIntervalMs }: TaskContext["limits"]): ToolOutcome {
  if (short.limit !== "maxRunningCalls") {
    return { kind: "failed", failure: toLimitFailure({ ...short, retryAfterMs: pollIntervalMs }) };
  }
  const message = `too many tasks are under way: at most ${maxRunning} may be (tasks.maxRunning); retry later`;
  const data = { reason: "limit-reached", retryAfterMs: pollIntervalMs, limit: "maxRunning", max: maxRunning };
  return { kind: "failed", failure: { code: "limit-reached", message, data } };
}

/** Where everything ends with its request, and no function extends that. */
function noContext({ params, method }: ToolCall): ToolOutcome {
  const message = `tool ${params.name} runs as a task, which would end with this request: pass all arguments of fetch to the handler, handler(request, env, ctx)`;
  return { kind: "failed", failure: { code: "unsupported", message, data: { method } } };
}

interface PromotionOptions {
  readonly env: Environment;
  /** How long a call may take as it is. */
  readonly afterMs: number;
  /** Makes a task of a run, unless its call ends before. */
  promote(execution: Execution, job: TaskJob): Promise<void>;
}

/** What works for a call. */
interface Worker {
  readonly execution: Execution;
  readonly job: TaskJob;
}

/** Runs calls, and turns each that takes long into a task. */
export function createPromotion({ env, afterMs, promote }: PromotionOptions) {
  /** By the current call: a run that waits for answers continues with another call, and is not retained here. */
  const workers = new WeakMap<Call, Worker>();
  /** Calls that have lasted. Some of them longer than it takes to find out what works for them. */
  const late = new WeakSet<Call>();

  const promoteLate = (call: Call): void => {
    const worker = workers.get(call);
    if (worker === undefined || !late.has(call) || abortReason(call) !== undefined) return;
    const { execution, job } = worker;
    promote(execution, job).catch((error: unknown) => {
      env.errors.failureOf(error, call.method, (call as ToolCall).params.name);
    });
  };

  const watch: Watch = {
    works(execution, job) {
      workers.set(execution.call, { execution, job });
      promoteLate(execution.call);
    },
    rests: ({ call }) => void workers.delete(call),
  };

  return (call: ToolCall, job: TaskJob): ToolOutcome | Promise<ToolOutcome> => {
    job.watch = watch;
    const outcome = env.runner.run(call, job) as ToolOutcome | Promise<ToolOutcome>;
    if (!(outcome instanceof Promise)) return outcome;
    const lasts = (): void => {
      late.add(call);
      promoteLate(call);
    };
    const deadline = env.deadlines.start({ idleMs: 0, totalMs: Math.max(1, afterMs) }, lasts);
    return outcome.finally(() => deadline.stop());
  };
}

/** Which task a call began, for callers that name their calls and have to repeat them. */
interface TaskNames {
  /** The task that the same call began before. */
  find(): Promise<TaskRecord | undefined>;
  /** Says that this task is the one. Resolves to another that is. */
  claim(task: Task): Promise<TaskRecord | undefined>;
}

/** Whether its caller may have to repeat it. */
function isNamed({ meta }: Call): boolean {
  return typeof meta[callKey] === "string";
}

/** Undefined for a call without a name. */
async function taskNames({ store, records, env }: TaskContext, call: Call): Promise<TaskNames | undefined> {
  const key = call.meta[callKey];
  if (typeof key !== "string") return undefined;
  const name = `task-call:${await bindingOf(call, { audience: env.audience, key })}`;

  const find = async (): Promise<TaskRecord | undefined> => {
    const value = await store.values.get(name);
    return value && records.read(value.text);
  };

  return {
    find,
    async claim({ taskId, ttlMs }) {
      for (;;) {
        const value = await store.values.get(name);
        const record = value && (await records.read(value.text));
        if (record !== undefined) return record;
        const limits = { version: value?.version ?? null, ...(ttlMs !== null && { ttlMs: Math.max(1, ttlMs) }) };
        if ((await store.values.put(name, taskId, limits)) !== undefined) return undefined;
      }
    },
  };
}
