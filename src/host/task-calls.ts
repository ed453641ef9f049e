import type { ClientConnection } from "../connect/create-connect.ts";
import { isObject } from "../json/json.ts";
import { type Failure, McpError } from "../protocol/errors.ts";
import type { Method, Params, Result } from "../protocol/methods.ts";
import type { ClientInfo } from "../protocol/peer.ts";
import { eraOf } from "../protocol/revision.ts";
import {
  abortReason,
  type Call,
  type CallOf,
  createCall,
  type Outcome,
  type OutcomeOf,
  withMethod,
} from "../protocol/service.ts";
import { type DetailedTask, isFinal, type Task, type TaskTerms, tasksExtension } from "../protocol/task.ts";
import type { Clock } from "../std/clock.ts";
import { LazyAbort } from "../std/lazy-abort.ts";
import type { CallerShares } from "./caller-shares.ts";
import type { Route } from "./calls.ts";
import { followForCaller } from "./change-feed.ts";
import { over, through } from "./delivery.ts";
import type { Handles } from "./handles.ts";

/** The calls that name a task. */
export type TaskMethod = "tasks/get" | "tasks/update" | "tasks/cancel" | "tasks/result";

/**
 * Calls of tools that may end as tasks, and calls about those tasks, between clients and servers of any revision.
 *
 * A tool that runs only as a task is run as one, whoever calls. A caller that can follow the task gets it; for one that
 * cannot, it is followed. A client of 2026-07-28 sees the task of a server of 2025-11-25 as one of its own revision.
 */
export interface TaskCalls {
  call(route: Route, line: ClientConnection, call: Call<"tools/call">): Promise<Outcome<"tools/call">>;
  /** A call about a task of this connection. The id is the one that the server has given. */
  about<M extends TaskMethod>(line: ClientConnection, call: CallOf<M>, params: Params<M>): Promise<OutcomeOf<M>>;
}

export function createTaskCalls(clock: Clock, handles: Handles, callers: CallerShares): TaskCalls {
  /** Gives a task to a caller that can follow it, and waits for its end for one that cannot. */
  const handOn = async (
    task: Task,
    { slot, localName: tool }: Route,
    line: ClientConnection,
    call: Call<"tools/call">,
  ) => {
    const { taskId } = task;
    if (call.tasks === undefined || abortReason(call) !== undefined) {
      const toState = () => handles.sealContinuation(call, slot.name, { kind: "task", taskId });
      const end = followForCaller(task, { line, clock, call, peer: ableOf(call.peer, line), toState });
      return callers.of(slot).whileWaiting(call, end);
    }
    if (isBetweenEras(call, line)) attend(task, call, line);
    const sealed = await handles.sealTask(call, { server: slot.name, taskId, tool });
    return { kind: "task", task: { ...task, taskId: sealed } } satisfies Outcome<"tools/call">;
  };

  /** Goes on with a task that has asked the caller something. */
  const comeBack = async (taskId: string, route: Route, line: ClientConnection, call: Call<"tools/call">) => {
    const peer = ableOf(call.peer, line);
    const ask = <M extends Method>(method: M, params: Params<M>): Promise<OutcomeOf<M>> =>
      over(line, withMethod(call, { method, params, peer, tasks: able }));
    const inputResponses = (call.answers ?? {}) as Params<"tasks/update">["inputResponses"];
    const updated = await ask("tasks/update", { taskId, inputResponses });
    if (updated.kind === "failed") return updated;
    const found = await ask("tasks/get", { taskId });
    return found.kind === "complete" ? handOn(found.result, route, line, call) : (found as Outcome<"tools/call">);
  };

  return {
    async call(route, line, call) {
      const { slot, localName: name } = route;
      const earlier = call.state === undefined ? undefined : await handles.openContinuation(call, slot.name);
      if (earlier?.kind === "task") return comeBack(earlier.taskId, route, line, call);
      const params = { ...call.params, name };
      const state = earlier?.state;
      if (call.tasks?.wanted === true && (await supportOf(route, line)) === undefined) return refusedTask(name);
      route.isTask ||= await isListedAsTask(route, line);
      const first = route.isTask ? undefined : await through(line, call, { params, state });
      if (first !== undefined && !mustBeTask(first, line, call)) return settle(first);
      route.isTask = true;
      const tasks: TaskTerms = isLegacy(line) ? { ...call.tasks, wanted: true } : able;
      // Who gives up before the task is known would leave it behind: it is cancelled when it is.
      const lasting = createCall({ ...call, abort: new LazyAbort() });
      const second = await through(line, lasting, { params, state, tasks, peer: ableOf(call.peer, line) });
      return settle(second);

      function settle(outcome: Outcome<"tools/call">): Outcome<"tools/call"> | Promise<Outcome<"tools/call">> {
        if (outcome.kind === "task") return handOn(outcome.task, route, line, call);
        return outcome.kind === "input-required" ? handles.sealOutcome(call, slot.name, outcome) : outcome;
      }
    },
    about(line, call, params) {
      if (!isBetweenEras(call, line)) return through(line, call, { params });
      return aboutLegacy(line, call, params);
    },
  };
}

const able: TaskTerms = { wanted: false };

function isLegacy({ connection }: ClientConnection): boolean {
  return eraOf(connection.revision) === "legacy";
}

function knowsTasks({ client }: ClientConnection): boolean {
  return client.server.capabilities.extensions?.[tasksExtension] !== undefined;
}

/** True for a client of 2026-07-28 and a server of 2025-11-25. */
function isBetweenEras({ peer }: CallOf, line: ClientConnection): boolean {
  return isLegacy(line) && eraOf(peer.revision) === "modern";
}

/** The caller, as one that can follow tasks: the host does where the caller does not. */
function ableOf(peer: ClientInfo, { connection }: ClientConnection): ClientInfo {
  const { capabilities } = peer;
  const extensions = { ...capabilities.extensions, [tasksExtension]: {} };
  return { ...peer, revision: connection.revision, capabilities: { ...capabilities, extensions } };
}

/**
 * Whether a server of 2025-11-25 lists a tool as one that runs only as a task. The list is asked, not the server: some
 * refuse a plain call with a result that reads like that of a tool which has failed.
 */
async function isListedAsTask(route: Route, line: ClientConnection): Promise<boolean> {
  return isLegacy(line) && knowsTasks(line) && (await supportOf(route, line)) === "required";
}

/** Whether a server of 2026-07-28 refuses to run a tool unless it may make a task of it. */
function mustBeTask(outcome: Outcome<"tools/call">, line: ClientConnection, { tasks }: Call<"tools/call">): boolean {
  return outcome.kind === "failed" && !isLegacy(line) && tasks === undefined && wantsTasks(outcome.failure);
}

function wantsTasks({ code, data }: Failure): boolean {
  if (code !== "missing-capability" || !isObject(data) || !isObject(data.requiredCapabilities)) return false;
  const { extensions } = data.requiredCapabilities;
  return isObject(extensions) && extensions[tasksExtension] !== undefined;
}

/** What the server lists about running the tool as a task. Only servers of 2025-11-25 do, and those in this process. */
async function supportOf(
  { slot, localName }: Route,
  line: ClientConnection,
): Promise<"optional" | "required" | undefined> {
  const tools = await slot.tools.get(line);
  const support = tools.find((tool) => tool.localName === localName)?.execution?.taskSupport;
  return support === "forbidden" ? undefined : support;
}

function refusedTask(name: string): Outcome<"tools/call"> {
  const message = `tool ${name} cannot be run as a task`;
  return { kind: "failed", failure: { code: "method-not-found", message } };
}

/** A server of 2025-11-25 asks about a task while its result is waited for. It asks the host: a client would not hear it. */
function attend({ taskId }: Task, call: Call, line: ClientConnection): void {
  const peer = ableOf(call.peer, line);
  const abort = new LazyAbort();
  const waiting = createCall({ method: "tasks/result", params: { taskId }, peer, abort, notify: ignore, tasks: able });
  over(line, waiting).catch(ignore);
}

/** A call of a client of 2026-07-28 about a task of a server of 2025-11-25. */
async function aboutLegacy<M extends TaskMethod>(
  line: ClientConnection,
  call: CallOf<M>,
  params: Params<M>,
): Promise<OutcomeOf<M>> {
  const peer = ableOf(call.peer, line);
  const ask = <N extends TaskMethod>(method: N): Promise<OutcomeOf<N>> =>
    over(line, withMethod(call, { method, params: { taskId: params.taskId } as Params<N>, peer, tasks: able }));
  const found = await ask("tasks/get");
  if (found.kind !== "complete") return found as OutcomeOf<M>;
  const task: DetailedTask = found.result;
  switch (call.method) {
    case "tasks/get":
      return complete(await detailed(task, line, () => ask("tasks/result"))) as OutcomeOf<M>;
    case "tasks/cancel":
      // To end what is over is an error there, and none here.
      return isFinal(task) ? (complete(task) as OutcomeOf<M>) : ((await ask("tasks/cancel")) as OutcomeOf<M>);
    default:
      // Where the host is asked, nobody else has anything to answer.
      line.taskQuestions?.answer(params.taskId, (params as Params<"tasks/update">).inputResponses);
      return complete({}) as OutcomeOf<M>;
  }
}

/** A task with what its status brings, which a server of 2025-11-25 tells only when asked for the result. */
async function detailed(
  task: DetailedTask,
  { taskQuestions }: ClientConnection,
  resultOf: () => Promise<OutcomeOf<"tasks/result">>,
): Promise<Result<"tasks/get">> {
  if (task.status === "input_required") {
    const { questions: _, ...rest } = task;
    const questions = taskQuestions?.of(task.taskId);
    return questions === undefined ? { ...rest, status: "working" } : { ...rest, status: "input_required", questions };
  }
  if (task.status !== "completed" && task.status !== "failed") return task;
  const outcome = await resultOf();
  if (outcome.kind === "complete") return { ...task, status: "completed", result: outcome.result };
  if (outcome.kind === "failed") return { ...task, status: "failed", failure: outcome.failure };
  throw new McpError("invalid-response", `tasks/result ended with ${outcome.kind}`);
}

function complete<T>(result: T): { readonly kind: "complete"; readonly result: T } {
  return { kind: "complete", result };
}

function ignore(): undefined {}
