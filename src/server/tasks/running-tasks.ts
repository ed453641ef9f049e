import { asJson } from "../../json/json.ts";
import { weightOf } from "../../json/weight.ts";
import { accountOf } from "../../protocol/account.ts";
import type { Shortage } from "../../protocol/budget.ts";
import type { Failure } from "../../protocol/errors.ts";
import type { Call } from "../../protocol/service.ts";
import { type Amounts, isShare, type Share } from "../../protocol/shares.ts";
import type { Job } from "../runs/execution.ts";
import { runName } from "../runs/journal.ts";
import { newId } from "../runs/ticket.ts";
import type { TaskContext } from "./task-events.ts";
import type { LocalTasks } from "./task-methods.ts";
import { type TaskRecord, untouched } from "./task-record.ts";
import { TaskRun, type TaskRunOptions } from "./task-run.ts";
import { keptFor } from "./task-store.ts";

type ToolCall = Call<"tools/call">;

/** The tasks that run in this process. */
export interface RunningTasks extends LocalTasks {
  has(id: string): boolean;
  isFull(): boolean;
  /** Begins a task for a call, or returns the limit that is reached. */
  begin(call: ToolCall, job: Job): Promise<TaskRun | Shortage>;
  /** Continues a task of a process that has ended. */
  resume(options: Omit<TaskRunOptions, "ended">): TaskRun;
  close(): Promise<void>;
}

const ONE: Amounts = { runningCalls: 1, tasks: 1 };

export function createRunningTasks(context: TaskContext): RunningTasks {
  const { env, store, records, shares, sizes, events, adopt } = context;
  const runs = new Map<string, TaskRun>();

  const report = (work: Promise<void>): void => {
    work.catch((error: unknown) => env.errors.failureOf(error, "tools/call"));
  };

  /** A task that has ended is deleted when room is needed, or when it expires. */
  const keep = (record: TaskRecord, share: Share): void => {
    const { runningCalls: _, ...amounts } = share.amounts;
    share.resize(amounts);
    const { id } = record;
    share.yields(() => {
      report(records.discard(id));
      return {};
    });
    sizes.set(id, share, keptFor(record, env.now()));
  };

  /** Ends a task of the principal with the most running tasks, to make room. */
  const endEarly = async (id: string): Promise<void> => {
    const { kind } = await records.change(id, { type: "fail", failure: gaveWay(context.limits.maxRunning) });
    if (kind !== "changed") return;
    runs.get(id)?.stop();
    await events.publish(id, "cancelled");
  };

  const add = (options: Omit<TaskRunOptions, "ended">, share: Share): TaskRun => {
    const { id } = options.record;
    runs.get(id)?.lose();
    const run: TaskRun = new TaskRun({
      ...options,
      ended(isFinal) {
        if (runs.get(id) === run) runs.delete(id);
        if (isFinal) keep(options.record, share);
        else share.release();
      },
    });
    runs.set(id, run);
    sizes.set(id, share, undefined);
    const evict = (): Amounts => {
      report(endEarly(id));
      const { runningCalls: _, ...rest } = share.amounts;
      return rest;
    };
    share.yields(evict, "others");
    return run;
  };

  const create = async (call: ToolCall, job: Job, share: Share): Promise<TaskRun> => {
    const run = await context.runs.begin(newId());
    try {
      const record = newRecord(call, job, run.id, context);
      sizes.set(run.id, share, undefined);
      if (!(await records.create(record, run.fence))) throw new Error("a task was taken over before it began");
      return add({ context, record, run, http: call.http }, share);
    } catch (error) {
      await run.release();
      throw error;
    }
  };

  /** Drops runs whose requests have ended without notice. */
  const dropDead = async (): Promise<void> => {
    for (const [id, run] of runs) if (!(await store.leases.held(runName(id)))) run.lose();
  };

  const isFull = (): boolean => shares.isFull("runningCalls");

  return {
    has: (id) => runs.has(id),
    isFull,
    async begin(call, job) {
      if (isFull() && adopt !== undefined) await dropDead();
      const account = accountOf(call);
      const share = shares.take(account, { ...ONE, heldBytes: weightOf(asJson(call.params)) });
      if (!isShare(share)) return share;
      try {
        const short = await makeRoomInStore(account, context);
        if (short === undefined) return await create(call, job, share);
        share.release();
        return short;
      } catch (error) {
        share.release();
        throw error;
      }
    },
    resume: (options) => add(options, shares.hold(options.record.account, ONE)),
    answered: (id) => runs.get(id)?.check(),
    ended: (id) => runs.get(id)?.stop(),
    async close() {
      await Promise.all([...runs.values()].map((run) => run.close()));
    },
  };
}

/** Forgets finished tasks that an account has in all processes, the oldest first. Says what is short when only others are left. */
async function makeRoomInStore(
  account: string,
  { records, held: all, shares, sizes }: TaskContext,
): Promise<Shortage | undefined> {
  const held = await all.of(account);
  const ended = held.filter((task) => task.ended !== undefined).sort((a, b) => Number(a.ended) - Number(b.ended));
  let [tasks, heldBytes] = [held.length + 1, held.reduce((sum, { bytes }) => sum + bytes, 0)];
  for (;;) {
    const short = shares.excess({ tasks, heldBytes });
    if (short === undefined) return undefined;
    const oldest = ended.shift();
    if (oldest === undefined) return short;
    await records.discard(oldest.id);
    sizes.delete(oldest.id);
    tasks--;
    heldBytes -= oldest.bytes;
  }
}

function gaveWay(max: number): Failure {
  const message = `the task was ended to make room for tasks of others (tasks.maxRunning is ${max}): its principal had the most under way`;
  return {
    code: "limit-reached",
    message,
    data: { reason: "limit-reached", limit: "maxRunning", max, scope: "process" },
  };
}

function newRecord(call: ToolCall, { scopes = [] }: Job, id: string, { env, limits }: TaskContext): TaskRecord {
  const { params, meta, peer, tasks } = call;
  const now = env.now();
  const { ttlMs: wanted = limits.ttlMs } = tasks ?? {};
  const ttlMs = Math.min(wanted >= 0 ? wanted : limits.ttlMs, limits.maxTtlMs);
  return {
    id,
    ...(peer.auth !== undefined && { owner: peer.auth.principal }),
    account: accountOf(call),
    ...(scopes.length > 0 && { scopes }),
    audience: env.audience,
    params,
    meta,
    peer,
    created: now,
    updated: now,
    ttlMs: Number.isFinite(ttlMs) ? ttlMs : null,
    state: untouched,
  };
}
