import type { Failure } from "../../protocol/errors.ts";
import type { CallToolParams } from "../../protocol/tool.ts";
import type { HttpRequestInfo } from "../../std/http-request-info.ts";
import { StoreError } from "../../store/store.ts";
import type { DurableRun } from "../runs/durable-run.ts";
import type { TaskContext } from "./task-events.ts";
import { endOf, isPast, type TaskEvent, type TaskRecord } from "./task-record.ts";
import { type Prepared, type TaskJob, taskJob } from "./task-run.ts";

export interface RecoveryOptions {
  readonly context: TaskContext;
  /** The job of a task. Undefined when no tool here can continue it. */
  prepare(params: CallToolParams): Promise<Prepared | undefined>;
  /** Whether this process runs the task, or can run no more. */
  isTaken(id: string): boolean;
  /** Continues a task without a process, in the request that found it where that is necessary. */
  resume(found: Found, http: HttpRequestInfo | undefined): void;
}

export interface Recovery {
  /** Looks once for tasks whose processes have ended, and continues or ends them. Never rejects. */
  recover(): Promise<void>;
  /** Checks one task, on behalf of a request. Never rejects. */
  adopt(id: string, http: HttpRequestInfo | undefined): Promise<void>;
}

/** A task without a process, and what is needed to continue it. */
export interface Found {
  readonly record: TaskRecord;
  readonly run: DurableRun;
  readonly job: TaskJob;
}

const noStep: Failure = {
  code: "internal",
  message: "the process that ran it ended before its first step, so no other process can continue it",
};

const noAnswer: Failure = { code: "timeout", message: "no answer came in time" };

export function createRecovery({ context, prepare, isTaken, resume }: RecoveryOptions): Recovery {
  const { runs, records, events, env } = context;

  const end = async ({ id, fence }: DurableRun, event: TaskEvent): Promise<void> => {
    const { kind } = await records.change(id, event, fence);
    if (kind === "changed") await events.publish(id, "changed");
    if (kind !== "fenced") await records.tidy(id);
  };

  /** Where a handler cannot wait between requests, a task that waits for its client is left alone until its time is over. */
  const isParked = ({ state }: TaskRecord): boolean =>
    env.clock.requestBound === true &&
    state.stage === "open" &&
    Object.keys(state.questions).length > 0 &&
    Object.keys(state.answers).length === 0;

  const prepareOwn = async ({ audience, params }: TaskRecord): Promise<Prepared | undefined> =>
    audience === env.audience ? prepare(params) : undefined;

  /** True when the run continues here. */
  const inspect = async (run: DurableRun, http: HttpRequestInfo | undefined): Promise<boolean> => {
    const record = await records.read(run.id);
    if (record?.state.stage !== "open") {
      await records.tidy(run.id);
      return false;
    }
    if (isParked(record)) {
      if (isPast(record, env.now())) await end(run, { type: "fail", failure: noAnswer });
      return false;
    }
    const { questions, answers } = record.state;
    const found = [questions, answers, run.history.answers, run.history.results];
    const prepared = await prepareOwn(record);
    // Another server of the same store may know the tool; if none does, the task expires.
    if (prepared === undefined && !isPast(record, env.now())) return false;
    if (prepared === undefined || found.every((trace) => Object.keys(trace).length === 0)) {
      await end(run, { type: "fail", failure: noStep });
      return false;
    }
    if (prepared.kind === "over") {
      await end(run, endOf(prepared.outcome));
      return false;
    }
    resume({ record, run, job: taskJob(prepared.job) }, http);
    return true;
  };

  const visit = async (id: string, http?: HttpRequestInfo): Promise<void> => {
    const run = isTaken(id) ? undefined : await runs.take(id);
    if (run === undefined) return;
    let continues = false;
    try {
      continues = await inspect(run, http);
    } finally {
      if (!continues) await run.release();
    }
  };

  const visitAll = async (): Promise<void> => {
    for (let ids = await records.open(); ids.length > 0; ids = await records.open(ids.at(-1))) {
      for (const id of ids) await visit(id);
    }
  };

  const report = (error: unknown): void => {
    if (!(error instanceof StoreError)) env.errors.failureOf(error, "tools/call");
  };

  return {
    recover: () => visitAll().catch(report),
    adopt: (id, http) => visit(id, http).catch(report),
  };
}
