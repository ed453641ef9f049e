import type { Codec } from "../codec/codec.ts";
import { failureOf, sendCall } from "../codec/send.ts";
import { asJson, type JsonObject } from "../json/json.ts";
import type { Exchange } from "../jsonrpc/inbound.ts";
import type { Notification } from "../jsonrpc/message.ts";
import type { RpcPeer } from "../jsonrpc/peer.ts";
import type { Connection, Opening } from "../model/connection.ts";
import { McpError, toError, toFailure } from "../model/errors.ts";
import type { DiscoverResult } from "../model/methods.ts";
import type { Peer } from "../model/peer.ts";
import type { Call, Outcome, Service } from "../model/service.ts";
import { createListeners } from "./listeners.ts";

/** The client's end of a connection that opened with `initialize`. */
export interface ClientSession extends Pick<Connection, "service" | "peer" | "setLogLevel" | "ping" | "tell"> {
  /** Answers what the server asks. Runs beside the reading of other messages. */
  request(exchange: Exchange): Promise<void> | undefined;
  notification(notification: Notification): void;
}

export interface ClientSessionOptions {
  readonly rpc: RpcPeer;
  readonly codec: Codec;
  readonly server: DiscoverResult;
  readonly opening: Opening;
}

export function createClientSession({ rpc, codec, server, opening }: ClientSessionOptions): ClientSession {
  const peer: Peer = { revision: codec.revision, info: opening.info, capabilities: opening.capabilities };

  /** A request that has no counterpart in the model. */
  const request = async (method: string, params: JsonObject): Promise<JsonObject> => {
    const limits = { idleMs: opening.timeoutMs, totalMs: 0 };
    const reply = await rpc.request(method, () => params, { limits });
    if (reply.kind === "success") return reply.result;
    throw toError(failureOf(reply, codec, method));
  };

  const listeners = createListeners({ request, capabilities: server.capabilities });

  const service = (call: Call): Promise<Outcome> => {
    if (call.method === "server/discover") return Promise.resolve({ kind: "complete", result: server });
    if (call.method === "subscriptions/listen") return listeners.listen(call as Call<"subscriptions/listen">);
    return sendCall(rpc, codec, call);
  };

  const answer = async (exchange: Exchange): Promise<void> => {
    const { method, params } = exchange.request;
    const decoded = codec.decodeQuestion(method, params);
    if (!decoded.ok) return void exchange.fail(codec.encodeFailure(decoded.failure));
    const question = decoded.value;
    try {
      const given = await opening.answer(question, exchange.abort.signal);
      exchange.succeed(codec.encodeAnswer(question.method, given));
    } catch (error) {
      const known = error instanceof McpError;
      exchange.fail(codec.encodeFailure(known ? toFailure(error) : { code: "internal", message: "internal error" }));
    }
  };

  return {
    service: service as Service,
    peer,
    request(exchange) {
      if (exchange.request.method === "ping") exchange.succeed({});
      else void answer(exchange);
      return undefined;
    },
    notification({ method, params }) {
      const decoded = codec.decodeNotification(method, params);
      if (!listeners.hear(method, decoded)) opening.notified(method, decoded);
    },
    async setLogLevel(level) {
      await request("logging/setLevel", { level });
    },
    async ping() {
      await request("ping", {});
    },
    tell(method, params) {
      const encoded = codec.encodeNotification(method, params);
      if (encoded !== undefined) rpc.notify(method, asJson(encoded));
    },
  };
}
