import { McpError } from "../../protocol/errors.ts";
import type { Outcome } from "../../protocol/service.ts";
import type { CallToolParams } from "../../protocol/tool.ts";
import type { Job } from "../runs/execution.ts";
import type { ServerTask } from "../server-tasks.ts";
import type { OutsideQuestions } from "./outside-questions.ts";
import type { TaskContext } from "./task-events.ts";
import type { LocalTasks } from "./task-methods.ts";
import { endOf, type TaskEvent } from "./task-record.ts";
import type { Prepared } from "./task-run.ts";
import { unknownTask } from "./task-store.ts";

interface ServerTaskOptions {
  readonly context: TaskContext;
  readonly local: Pick<LocalTasks, "ended">;
  readonly questions: OutsideQuestions;
  prepare(params: CallToolParams): Promise<Prepared | undefined>;
}

/** Changes a task from outside of its handler. Whoever runs it hears of its end, in whichever process. */
export function createServerTask({ context, local, questions, prepare }: ServerTaskOptions, id: string): ServerTask {
  const { records, events } = context;

  const change = async (event: TaskEvent): Promise<void> => {
    const changed = await records.change(id, event);
    if (changed.kind === "unknown" || changed.kind === "fenced") throw unknownTask();
    const { stage } = changed.record.state;
    if (changed.kind === "changed") {
      if (stage !== "open") local.ended(id);
      // A process that runs it reads the record, and finds that it is over.
      await events.publish(id, stage === "open" ? "changed" : "cancelled");
    } else if (stage !== "open") {
      throw new McpError("invalid-params", `task ${id} is ${stage} already`);
    }
  };

  /** Ends the task as its tool would. */
  const end = async (outcome: (job: Job) => Outcome | Promise<Outcome>): Promise<void> => {
    const record = await records.read(id);
    if (record === undefined) throw unknownTask();
    const prepared = record.state.stage === "open" ? await prepare(record.params) : undefined;
    if (prepared === undefined && record.state.stage === "open") {
      throw new McpError("unsupported", `tool ${record.params.name} of task ${id} is not defined in this process`);
    }
    if (prepared === undefined) return change({ type: "cancel" });
    const ended = prepared.kind === "over" ? prepared.outcome : await outcome(prepared.job);
    await change(endOf(ended as Outcome<"tools/call">));
  };

  return {
    progress: (progress, total, message) =>
      change({
        type: "report",
        progress: { progress, ...(total !== undefined && { total }), ...(message !== undefined && { message }) },
      }),
    ask: (message, schema, options) => questions.ask(id, { message, schema }, options) as Promise<never>,
    finish: (value) => end((job) => job.finish(value)),
    fail: (error) => end((job) => job.fail(error)),
    cancel: () => change({ type: "cancel" }),
  };
}
