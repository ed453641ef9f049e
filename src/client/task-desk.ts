import type { JsonObject } from "../json/json.ts";
import type { Connection } from "../model/connection.ts";
import { McpError, toFailure } from "../model/errors.ts";
import type { Method, Params, Result } from "../model/methods.ts";
import { eraOf } from "../model/revision.ts";
import { abortReason, type Call, type Outcome, type Service } from "../model/service.ts";
import { type DetailedTask, type Task, type TaskTerms, tasksExtension } from "../model/task.ts";
import type { CallToolResult, Tool } from "../model/tool.ts";
import type { CallOptions } from "./call-options.ts";
import { unsupported } from "./calls.ts";
import type { OutputChecks } from "./check-output.ts";
import { isDetailed } from "./follow-task.ts";
import { walk } from "./paging.ts";
import { isPassing } from "./passing.ts";
import type { Requests } from "./request.ts";
import { createTaskHandle, finishedHandle } from "./task-handle.ts";
import type { FollowOptions, StartOptions, TaskHandle } from "./tasks.ts";

export interface TaskDeskParts {
  readonly connection: Connection;
  readonly send: Requests["send"];
  readonly checks: OutputChecks;
  readonly checksOutput: boolean;
  readonly maxPages: number;
  listTools(): Promise<readonly Tool[]>;
}

/** See `Tasks`. */
export interface TaskDesk {
  start(name: string, args: JsonObject | undefined, options: StartOptions | undefined): Promise<TaskHandle>;
  resume(taskId: string, options: FollowOptions | undefined): Promise<TaskHandle>;
  list(options: CallOptions | undefined): Promise<readonly Task[]>;
}

export function createTaskDesk(parts: TaskDeskParts): TaskDesk {
  const { connection, send, checks, checksOutput, maxPages } = parts;
  const { server, revision } = connection;
  const isModern = eraOf(revision) === "modern";

  const status = async (taskId: string, options?: CallOptions): Promise<DetailedTask> => {
    const task = await send("tasks/get", { taskId }, options);
    return isDetailed(task) ? task : withResult(task, () => send("tasks/result", { taskId }, options));
  };

  const cancel = async (taskId: string, options?: CallOptions): Promise<void> => {
    try {
      await send("tasks/cancel", { taskId }, options);
    } catch (error) {
      // A legacy server refuses to end what is over.
      if (isModern || !(error instanceof McpError) || error.code !== "invalid-params") throw error;
      await send("tasks/get", { taskId }, options);
    }
  };

  const handleOf = (task: Task, options: FollowOptions | undefined, name?: string): TaskHandle => {
    const check = (result: CallToolResult) =>
      checksOutput && name !== undefined ? checks.check(name, result) : result;
    return createTaskHandle({ send, check, status, cancel, options }, task);
  };

  return {
    async start(name, args, options) {
      const { tools } = server.capabilities;
      if (tools === undefined) throw unsupported(server, "tools/call", "tools");
      let task: Task | undefined;
      const service = catching(connection.service, (given, isWanted) => {
        task = given;
        if (!isWanted) cancel(given.taskId).catch(() => {});
      });
      const tasks = isModern ? undefined : await legacyTerms(parts, name, options);
      const params: Params<"tools/call"> = args === undefined ? { name } : { name, arguments: args };
      const result = await send("tools/call", params, options, { service, tasks });
      if (task !== undefined) return handleOf(task, options, name);
      return finishedHandle(checksOutput ? await checks.check(name, result) : result);
    },
    async resume(taskId, options) {
      if (!hasTasks(parts)) throw unsupported(server, "tasks/get", tasksExtension);
      return handleOf(await status(taskId), options);
    },
    async list(options) {
      if (!hasTasks(parts)) throw unsupported(server, "tasks/list", tasksExtension);
      if (isModern) throw new McpError("unsupported", `revision ${revision} has no tasks/list`);
      const fetchPage = (cursor: string | undefined) =>
        send("tasks/list", cursor === undefined ? {} : { cursor }, options);
      const all: Task[] = [];
      for await (const page of walk(fetchPage, { method: "tasks/list", maxPages })) all.push(...page.tasks);
      return all;
    },
  };
}

function hasTasks({ connection }: TaskDeskParts): boolean {
  return connection.server.capabilities.extensions?.[tasksExtension] !== undefined;
}

/** A legacy server makes a task only if told to, and may only be told to for a tool that says it can. */
async function legacyTerms(
  parts: TaskDeskParts,
  name: string,
  options: StartOptions | undefined,
): Promise<TaskTerms | undefined> {
  const { checks, connection, listTools } = parts;
  if (!hasTasks(parts) || connection.peer.capabilities.extensions?.[tasksExtension] === undefined) return undefined;
  if (!checks.hasLearned) await listTools();
  if (checks.taskSupport(name) === undefined) return undefined;
  return { wanted: true, ...(options?.ttlMs !== undefined && { ttlMs: options.ttlMs }) };
}

/** A service whose tasks are taken by somebody else than the caller, who gets an empty result instead. */
function catching(service: Service, take: (task: Task, isWanted: boolean) => void): Service {
  return async <M extends Method>(call: Call<M>): Promise<Outcome<M>> => {
    const outcome = await service(call);
    if (outcome.kind !== "task" || call.peer.capabilities.extensions?.[tasksExtension] === undefined) return outcome;
    take(outcome.task, abortReason(call) === undefined);
    return { kind: "complete", result: nothing as Result<M> };
  };
}

const nothing: CallToolResult = { content: [] };

/** The end of a legacy task: what it gave, or why it failed, which the server tells only when asked for the result. */
async function withResult(task: Task, getResult: () => Promise<CallToolResult>): Promise<DetailedTask> {
  if (task.status === "input_required") return { ...task, status: "input_required", questions: {} };
  try {
    return { ...task, status: "completed", result: await getResult() };
  } catch (error) {
    if (!(error instanceof McpError) || error.code === "cancelled" || isPassing(error)) throw error;
    return { ...task, status: "failed", failure: toFailure(error) };
  }
}
