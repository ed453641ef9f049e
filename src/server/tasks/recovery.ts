import type { Failure } from "../../model/errors.ts";
import type { CallToolParams } from "../../model/tool.ts";
import { type Lease, StoreError } from "../../store/store.ts";
import type { Recollection } from "../dialogue.ts";
import { readJournal } from "../journal.ts";
import type { TaskDesk } from "./desk.ts";
import type { Prepared, TaskJob } from "./job.ts";
import { endOf, type TaskEvent, type TaskRecord } from "./record.ts";
import { nameOf } from "./records.ts";

export interface RecoveryOptions {
  readonly desk: TaskDesk;
  /** What to run for a task. Undefined when no tool here can go on with it. */
  prepare(params: CallToolParams): Promise<Prepared | undefined>;
  /** Whether this process runs the task, or can run no more. */
  isTaken(id: string): boolean;
  /** Goes on with a task that nobody runs. */
  takeUp(found: Found): void;
}

/** A task that nobody runs, and what it takes to go on with it. */
export interface Found {
  readonly record: TaskRecord;
  readonly lease: Lease;
  readonly job: TaskJob;
  readonly past: Recollection;
}

const noStep: Failure = {
  code: "internal",
  message: "the process that ran it ended, and there is no step to go on from",
};

/** Looks once for tasks whose processes have died, and goes on with them or ends them. Never rejects. */
export function createRecovery({ desk, prepare, isTaken, takeUp }: RecoveryOptions): () => Promise<void> {
  const { store, records, news, env, limits } = desk;

  const end = async (id: string, event: TaskEvent, lease: Lease): Promise<void> => {
    const { kind } = await records.change(id, event, lease.token);
    if (kind === "changed") await news.publish(id, "changed");
    if (kind !== "fenced") await records.tidy(id);
  };

  /** True when the lease is still needed. */
  const inspect = async (id: string, lease: Lease): Promise<boolean> => {
    const record = await records.read(id);
    if (record?.state.stage !== "open") {
      await records.tidy(id);
      return false;
    }
    const { questions, answers } = record.state;
    const past = await readJournal(store, nameOf(id));
    const traces = [questions, answers, past.answers, past.results];
    const prepared = await prepare(record.params);
    // A server of another making may know the tool; when nobody does, the task ends with its time.
    if (prepared === undefined && !isPast(record, env.now())) return false;
    if (prepared === undefined || traces.every((trace) => Object.keys(trace).length === 0)) {
      await end(id, { type: "fail", failure: noStep }, lease);
      return false;
    }
    if (prepared.kind === "over") {
      await end(id, endOf(prepared.outcome), lease);
      return false;
    }
    takeUp({ record, lease, job: prepared.job, past });
    return true;
  };

  const visit = async (id: string): Promise<void> => {
    if (isTaken(id)) return;
    const lease = await store.leases.acquire(nameOf(id), limits.leaseMs);
    if (lease === undefined) return;
    let isNeeded = false;
    try {
      isNeeded = await inspect(id, lease);
    } finally {
      if (!isNeeded) await lease.release();
    }
  };

  return async () => {
    try {
      for (let ids = await records.open(); ids.length > 0; ids = await records.open(ids.at(-1))) {
        for (const id of ids) await visit(id);
      }
    } catch (error) {
      if (!(error instanceof StoreError)) env.faults.failureOf(error, "tools/call");
    }
  };
}

function isPast({ created, ttlMs }: TaskRecord, now: number): boolean {
  return ttlMs !== null && created + ttlMs <= now;
}
