import type { LegacyClientCodec } from "../codec/codec.ts";
import { failureOf, sendCall } from "../codec/send.ts";
import type { JsonObject } from "../json/json.ts";
import type { Exchange } from "../jsonrpc/inbound.ts";
import type { Notification } from "../jsonrpc/message.ts";
import type { RpcPeer } from "../jsonrpc/peer.ts";
import type { Connection, Opening } from "../model/connection.ts";
import { type Failure, McpError, toError, toFailure } from "../model/errors.ts";
import type { LogLevel } from "../model/logging.ts";
import { metaKeys, metaOf, withMeta } from "../model/meta.ts";
import type { DiscoverResult } from "../model/methods.ts";
import type { ClientCapabilities, Peer } from "../model/peer.ts";
import { type Call, type Outcome, type Service, signalOf } from "../model/service.ts";
import { createListeners } from "./listeners.ts";

/** The client's end of a connection that opened with `initialize`. */
export interface ClientSession {
  /** What callers see of it. */
  readonly connection: Required<Pick<Connection, "service" | "peer" | "setLogLevel" | "ping" | "tell">>;
  /** Answers what the server asks. Never holds back the reading of other messages. */
  request(exchange: Exchange): undefined;
  notification(notification: Notification): void;
  /** Tells a server that has forgotten it what it was told: the log level, and what is subscribed to. */
  restore(): Promise<void>;
  /** The connection is over: ends what does not wait for an answer of the server. */
  close(failure: Failure): void;
}

export interface ClientSessionOptions {
  readonly rpc: RpcPeer;
  readonly codec: LegacyClientCodec;
  readonly server: DiscoverResult;
  readonly opening: Opening;
  /** Resolves when what the server says by itself can arrive. Default: it always can. */
  readonly listening?: Promise<void> | undefined;
}

export function createClientSession({ rpc, codec, server, opening, listening }: ClientSessionOptions): ClientSession {
  const peer: Peer = { revision: codec.revision, info: opening.info, capabilities: opening.capabilities };

  /** A request that has no counterpart in the model. */
  const send = async (method: string, params: JsonObject): Promise<JsonObject> => {
    const limits = { idleMs: opening.timeoutMs, totalMs: 0 };
    const reply = await rpc.request(method, () => params, { limits });
    if (reply.kind === "success") return reply.result;
    throw toError(failureOf(reply, codec, method));
  };

  const listeners = createListeners({ request: send, capabilities: server.capabilities, listening });
  let logLevel: LogLevel | undefined;
  /** Set while a question would be lost: some servers ask by themselves, and not as a part of the call. */
  let deaf = canBeAsked(opening.capabilities) ? listening : undefined;
  void deaf?.then(() => {
    deaf = undefined;
  });

  const setLogLevel = async (level: LogLevel): Promise<void> => {
    await send("logging/setLevel", { level });
    logLevel = level;
  };

  /** Who has given up by then wants nothing done. */
  const sendLater = async (call: Call, time: Promise<void>): Promise<Outcome> => {
    await time;
    if (!signalOf(call).aborted) return sendCall(rpc, codec, call);
    return { kind: "failed", failure: failureOf({ kind: "lost", reason: "cancelled" }, codec, call.method) };
  };

  const service = (call: Call): Promise<Outcome> => {
    if (call.method === "server/discover") return Promise.resolve({ kind: "complete", result: server });
    if (call.method === "subscriptions/listen") return listeners.listen(call as Call<"subscriptions/listen">);
    if (deaf !== undefined && call.method === "tools/call") return sendLater(call, deaf);
    return sendCall(rpc, codec, call);
  };

  const answer = async (exchange: Exchange): Promise<void> => {
    const { method, params } = exchange.request;
    const decoded = codec.decodeQuestion(method, params);
    if (!decoded.ok) return void exchange.fail(codec.encodeFailure(decoded.failure));
    const question = decoded.value;
    try {
      const given = await opening.answer(question, exchange.abort.signal);
      exchange.succeed(related(codec.encodeAnswer(question.method, given), params));
    } catch (error) {
      exchange.fail(codec.encodeFailure(refusalOf(error)));
    }
  };

  return {
    connection: {
      service: service as Service,
      peer,
      setLogLevel,
      async ping() {
        await send("ping", {});
      },
      tell(method, params) {
        const encoded = codec.encodeNotification(method, params);
        if (encoded !== undefined) rpc.notify(codec.notificationName(method), encoded);
      },
    },
    request(exchange) {
      if (exchange.request.method === "ping") exchange.succeed({});
      else void answer(exchange);
      return undefined;
    },
    notification({ method, params }) {
      const told = codec.decodeNotification(method, params);
      if (told === undefined || listeners.hear(told.method, told.params)) return;
      // What belongs to no call goes on as it came.
      opening.notified(told.method, told.method === method ? params : told.params);
    },
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

function canBeAsked({ elicitation, sampling, roots }: ClientCapabilities): boolean {
  return elicitation !== undefined || sampling !== undefined || roots !== undefined;
}
