import type { JsonObject } from "../../json/json.ts";
import type { IncomingRequest } from "../../jsonrpc/inbound.ts";
import type { Id, Notification, Request } from "../../jsonrpc/message.ts";
import type { RpcPeer } from "../../jsonrpc/peer.ts";
import type { ClientCodec, DecodedNotification } from "../../protocol/codec/codec.ts";
import type { Connection, Opening } from "../../protocol/connection.ts";
import { type Failure, McpError, toError, toFailure } from "../../protocol/errors.ts";
import type { LogLevel } from "../../protocol/logging.ts";
import { metaKeys, metaOf, withMeta } from "../../protocol/meta.ts";
import { type DiscoverResult, isDescribed } from "../../protocol/methods.ts";
import type { ClientInfo } from "../../protocol/peer.ts";
import type { Call, Notify, Outcome, Service } from "../../protocol/service.ts";
import { isFinal, type Task } from "../../protocol/task.ts";
import { failureOf, findRequestId, sendCall } from "../../transport/send-call.ts";
import type { LegacyClientCodec } from "../codec/codec.ts";
import { sessionMethods } from "../session/session-methods.ts";
import { createListeners } from "./listeners.ts";

/** The client's end of a connection that opened with `initialize`. */
interface ClientSession {
  /** What callers see of it. */
  readonly connection: Required<Pick<Connection, "service" | "peer" | "setLogLevel" | "ping" | "tell">>;
  /** Answers what the server asks. Never holds back the reading of other messages. */
  request(incoming: IncomingRequest): undefined;
  notification(notification: Notification): void;
  /** The request that a notification belongs to, by its id. Progress of a task belongs to none any more. */
  findRequestId(notification: Notification): Id | undefined;
  /** Repeats the state of this client to a server that has lost it: the log level, and subscriptions. */
  restore(): Promise<void>;
  /** The connection is over: ends what does not wait for an answer of the server. */
  close(failure: Failure): void;
}

interface ClientSessionOptions {
  readonly rpc: RpcPeer;
  readonly codec: LegacyClientCodec;
  readonly server: DiscoverResult;
  readonly opening: Opening;
  /** Resolves when what the server says by itself can arrive. Default: it always can. */
  readonly listening?: Promise<void> | undefined;
}

export function createClientSession({ rpc, codec, server, opening, listening }: ClientSessionOptions): ClientSession {
  const peer: ClientInfo = { revision: codec.revision, info: opening.info, capabilities: opening.capabilities };

  /** A request that has no counterpart in the model. */
  const request = async (method: string, params: JsonObject, headers?: Call["headers"]): Promise<JsonObject> => {
    const limits = { idleMs: opening.timeoutMs, totalMs: 0 };
    const reply = await rpc.request(method, () => params, { limits, headers });
    if (reply.kind === "success") return reply.result;
    throw toError(failureOf(reply, codec, method));
  };

  const listeners = createListeners({ request, capabilities: server.capabilities, listening });
  let logLevel: LogLevel | undefined;

  const setLogLevel = async (level: LogLevel, headers?: Call["headers"]): Promise<void> => {
    await request("logging/setLevel", { level }, headers);
    logLevel = level;
  };

  const tasks = createTaskProgress();

  const service = (call: Call): Promise<Outcome> => {
    if (call.method === "server/discover") return Promise.resolve({ kind: "complete", result: server });
    if (call.method === "subscriptions/listen") return listeners.listen(call as Call<"subscriptions/listen">);
    return tasks.send(rpc, codec, call);
  };

  const answerOf = async ({ method, params, relatedRequestId }: Request, signal: AbortSignal): Promise<JsonObject> => {
    const decoded = codec.decodeQuestion(method, params);
    if (decoded.ok) {
      const given = await opening.answer(decoded.value, signal, relatedRequestId);
      return codec.encodeAnswer(decoded.value.method, given);
    }
    const isForUser = decoded.failure.code === "method-not-found" && !isDefined(method);
    if (!isForUser || opening.request === undefined) throw toError(decoded.failure);
    return opening.request(method, params, signal);
  };

  const answer = async (incoming: IncomingRequest): Promise<void> => {
    const { request } = incoming;
    try {
      incoming.succeed(related(await answerOf(request, incoming.abort.signal), request.params));
    } catch (error) {
      incoming.fail(codec.encodeFailure(refusalOf(error)));
    }
  };

  return {
    connection: {
      service: service as Service,
      peer,
      setLogLevel,
      async ping(headers) {
        await request("ping", {}, headers);
      },
      tell(method, params) {
        const encoded = codec.encodeNotification(method, params);
        if (encoded !== undefined) rpc.notify(codec.notificationName(method), encoded);
      },
    },
    request(incoming) {
      if (incoming.request.method === "ping") incoming.succeed({});
      else void answer(incoming);
      return undefined;
    },
    notification({ method, params }) {
      const notification = codec.decodeNotification(method, params);
      if (
        notification === undefined ||
        tasks.onNotification(notification, params.progressToken) ||
        listeners.onNotification(notification.method, notification.params)
      )
        return;
      // Notifications that belong to no call are passed on unchanged.
      opening.notified(notification.method, notification.method === method ? params : notification.params);
    },
    findRequestId: (notification) => (tasks.owns(notification) ? undefined : findRequestId(notification)),
    async restore() {
      await Promise.all([logLevel === undefined ? undefined : setLogLevel(logLevel), listeners.renew()]);
    },
    close: listeners.close,
  };
}

/** An answer that belongs to the task that its question belongs to. */
function related(answer: JsonObject, question: JsonObject): JsonObject {
  const task = metaOf(question)[metaKeys.relatedTask];
  return task === undefined ? answer : withMeta(answer, metaKeys.relatedTask, task);
}

/** What the server may know of a question that was not answered. */
function refusalOf(error: unknown): Failure {
  return error instanceof McpError ? toFailure(error) : { code: "internal", message: "internal error" };
}

/** True for a request that the protocol has a meaning for, if not in this direction. */
function isDefined(method: string): boolean {
  return isDescribed(method) || method === "initialize" || sessionMethods.has(method);
}

/** Calls of a client whose server may answer them with tasks: the progress token of one is valid until its task ends. */
interface TaskProgress {
  send(rpc: Pick<RpcPeer, "request">, codec: ClientCodec, call: Call): Promise<Outcome>;
  /** Handles progress of a task. True when no other part needs it. */
  onNotification(notification: DecodedNotification, token: unknown): boolean;
  /** True for progress of a task, or of a call that may become one. */
  owns(notification: Notification): boolean;
}

/** Maximum number of tasks with progress. The oldest are dropped. */
const MAX_TASKS = 1_000;

const PROGRESS = "notifications/progress";

function createTaskProgress(): TaskProgress {
  const begun = new Map<unknown, { readonly notify: Notify; taskId?: string }>();

  const forget = (taskId: string): void => {
    for (const [token, task] of begun) if (task.taskId === taskId) begun.delete(token);
  };

  const stands = (task: Task): void => {
    if (isFinal(task)) forget(task.taskId);
  };

  /** Records the outcome of a call with progress. */
  const end = (token: Id, outcome: Outcome): void => {
    const known = begun.get(token);
    if (outcome.kind === "task" && known !== undefined) known.taskId = outcome.task.taskId;
    else begun.delete(token);
  };

  /** The token counts from the moment on that the call is sent: progress may come together with the task. */
  const begin = async (rpc: Pick<RpcPeer, "request">, codec: ClientCodec, call: Call): Promise<Outcome> => {
    let token: Id | undefined;
    const request: RpcPeer["request"] = (method, params, how) => {
      const withToken = (id: Id) => {
        const [oldest] = begun.keys();
        if (begun.size >= MAX_TASKS) begun.delete(oldest);
        begun.set(id, { notify: call.notify });
        token = id;
        return params(id);
      };
      return rpc.request(method, withToken, how);
    };
    const outcome = await sendCall({ request }, codec, call);
    if (token !== undefined) end(token, outcome);
    return outcome;
  };

  /** Sees how a task stands. */
  const look = async ({ method, params }: Call, sent: Promise<Outcome>): Promise<Outcome> => {
    const outcome = await sent;
    if (outcome.kind !== "complete") return outcome;
    if (method === "tasks/result") forget(params.taskId);
    if (method === "tasks/get" || method === "tasks/cancel") stands(outcome.result as Task);
    return outcome;
  };

  return {
    send(rpc, codec, call) {
      if (call.method === "tools/call" && call.tasks !== undefined && call.wantsProgress)
        return begin(rpc, codec, call);
      const sent = sendCall(rpc, codec, call) as Promise<Outcome>;
      return call.method.startsWith("tasks/") ? look(call, sent) : sent;
    },
    onNotification({ method, params }, token) {
      if (method === "notifications/tasks") stands(params as unknown as Task);
      const task = method === PROGRESS ? begun.get(token) : undefined;
      task?.notify(method, params);
      return task !== undefined;
    },
    owns: ({ method, params }) => method === PROGRESS && begun.has(params.progressToken),
  };
}
