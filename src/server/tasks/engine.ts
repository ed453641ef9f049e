import { McpError } from "../../model/errors.ts";
import type { Call, Outcome } from "../../model/service.ts";
import type { CallToolParams } from "../../model/tool.ts";
import { memoryStore } from "../../store/memory-store.ts";
import type { TaskMode } from "../define-tool.ts";
import type { Environment } from "../environment.ts";
import type { TaskLimits } from "../options.ts";
import { newId } from "../ticket.ts";
import { limitsOf, type TaskDesk } from "./desk.ts";
import { every } from "./every.ts";
import type { Prepared, TaskJob } from "./job.ts";
import { createTaskMethods, type Local, type TaskMethods } from "./methods.ts";
import { isNamed, taskNames } from "./names.ts";
import { createTaskNews } from "./news.ts";
import { createPromotion } from "./promotion.ts";
import { brief, type TaskRecord, untouched } from "./record.ts";
import { createTaskRecords, nameOf } from "./records.ts";
import { createRecovery } from "./recovery.ts";
import { createTaskResult } from "./result.ts";
import { TaskRun, type TaskRunOptions } from "./run.ts";
import { type Watching, watchTasks } from "./watching.ts";

type ToolCall = Call<"tools/call">;
type ToolOutcome = Outcome<"tools/call">;

/** The tasks of a server. */
export interface TaskEngine {
  /** Runs a tool for a caller that knows tasks: as one at once, or when it lasts. */
  call(call: ToolCall, job: TaskJob, mode: TaskMode): ToolOutcome | Promise<ToolOutcome>;
  /** Answers a method of tasks. */
  answer(call: Call): Promise<Outcome>;
  watch(call: Call, ids: readonly string[]): Promise<Watching>;
  /** Leaves what runs here to other processes. */
  close(): Promise<void>;
}

export interface TaskEngineOptions {
  readonly env: Environment;
  readonly limits: TaskLimits | undefined;
  /** What to run for a task that was begun elsewhere. */
  prepare(params: CallToolParams): Promise<Prepared | undefined>;
}

/** Resolves when it hears of tasks. Where the store outlives this process, it goes on with what others left behind. */
export async function createTaskEngine({ env, limits: given, prepare }: TaskEngineOptions): Promise<TaskEngine> {
  const limits = limitsOf(given);
  const store = await (env.store?.() ?? memoryStore({ clock: env.clock }));
  const records = createTaskRecords(store, env.now);
  const desk: TaskDesk = { env, store, records, limits, news: await createTaskNews(store) };
  const running = createRunning(desk);

  const begin = async (call: ToolCall): Promise<TaskRun> => {
    const id = newId();
    const lease = store.durable ? await store.leases.acquire(nameOf(id), limits.leaseMs) : undefined;
    const record = newRecord(call, id, desk);
    if (!(await records.create(record, lease?.token))) throw new Error("a task was taken over before it began");
    return running.add({ desk, record, lease, http: call.http });
  };

  const asTask = (record: TaskRecord): ToolOutcome => ({ kind: "task", task: brief(record, limits.pollIntervalMs) });

  /** The task that the same call began before, by its name. */
  const earlier = async (call: ToolCall): Promise<TaskRecord | undefined> => (await taskNames(desk, call))?.find();

  /** Gives a task the name of its call, if that has one. Resolves to another that has it. */
  const nameAfter = async (call: ToolCall, run: TaskRun): Promise<TaskRecord | undefined> => {
    try {
      return await (await taskNames(desk, call))?.claim(run.task);
    } catch (error) {
      await run.discard();
      throw error;
    }
  };

  const atOnce = async (call: ToolCall, job: TaskJob): Promise<ToolOutcome> => {
    const known = await earlier(call);
    if (known !== undefined) return asTask(known);
    const run = await running.reserve(() => begin(call));
    if (run === undefined) return tooMany;
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
      // A call that cannot become a task stays what it is.
      const run = await running.reserve(() => begin(call));
      if (run === undefined) return;
      // From the moment on that others can go on with the task, who repeats the call has to find it.
      const first = await nameAfter(call, run);
      if (first !== undefined || !run.takeOver(execution, job)) await run.discard();
    },
  });

  const asItIs = async (call: ToolCall, job: TaskJob): Promise<ToolOutcome> => {
    const known = await earlier(call);
    return known === undefined ? firstAsItIs(call, job) : asTask(known);
  };

  const recover = createRecovery({
    desk,
    prepare,
    isTaken: (id) => running.has(id) || running.isFull(),
    takeUp: ({ record, lease, job, past }) => running.add({ desk, record, lease }).start(job, past),
  });
  const stop = store.durable ? every(env.clock, limits.leaseMs, recover) : () => {};
  if (store.durable) void recover();

  const methods: TaskMethods = { ...createTaskMethods(desk, running), "tasks/result": createTaskResult(desk, running) };
  const table = new Map<string, (call: never) => Promise<Outcome>>(Object.entries(methods));

  return {
    async answer(call) {
      const method = table.get(call.method);
      if (method === undefined) throw new McpError("method-not-found", `unknown method ${call.method}`);
      return method(call as never);
    },
    call(call, job, mode) {
      if (mode === "required" || call.tasks?.wanted) return atOnce(call, job);
      return isNamed(call) ? asItIs(call, job) : firstAsItIs(call, job);
    },
    watch: (call, ids) => watchTasks(desk, call, ids),
    async close() {
      stop();
      await running.close();
      await desk.news.close();
    },
  };
}

const tooMany: ToolOutcome = {
  kind: "failed",
  failure: { code: "limit-reached", message: "too many tasks are under way" },
};

interface Running extends Local {
  has(id: string): boolean;
  isFull(): boolean;
  /** Makes room for a run before it is made. Undefined when there is none. */
  reserve(make: () => Promise<TaskRun>): Promise<TaskRun | undefined>;
  add(options: Omit<TaskRunOptions, "ended">): TaskRun;
  close(): Promise<void>;
}

/** The tasks that run in this process. */
function createRunning({ records, limits }: TaskDesk): Running {
  const runs = new Map<string, TaskRun>();
  const kept = new Set<string>();
  let reserved = 0;

  const isFull = (): boolean => runs.size + reserved >= limits.maxRunning;

  const keep = (id: string): void => {
    kept.add(id);
    const [oldest] = kept;
    if (kept.size <= limits.maxKept || oldest === undefined) return;
    kept.delete(oldest);
    void records.discard(oldest).catch(() => {});
  };

  return {
    has: (id) => runs.has(id),
    isFull,
    async reserve(make) {
      if (isFull()) return undefined;
      reserved++;
      try {
        return await make();
      } finally {
        reserved--;
      }
    },
    add(options) {
      const { id } = options.record;
      const run: TaskRun = new TaskRun({
        ...options,
        ended(isFinal) {
          runs.delete(id);
          if (isFinal) keep(id);
        },
      });
      runs.set(id, run);
      return run;
    },
    answered: (id) => runs.get(id)?.look(),
    ended: (id) => runs.get(id)?.stop(),
    async close() {
      await Promise.all([...runs.values()].map((run) => run.close()));
    },
  };
}

function newRecord({ params, meta, peer, tasks }: ToolCall, id: string, { env, limits }: TaskDesk): TaskRecord {
  const now = env.now();
  const { ttlMs: wanted = limits.ttlMs } = tasks ?? {};
  const ttlMs = Math.min(wanted >= 0 ? wanted : limits.ttlMs, limits.maxTtlMs);
  return {
    id,
    ...(peer.auth !== undefined && { owner: peer.auth.principal }),
    params,
    meta,
    peer,
    created: now,
    updated: now,
    ttlMs: Number.isFinite(ttlMs) ? ttlMs : null,
    state: untouched,
  };
}
