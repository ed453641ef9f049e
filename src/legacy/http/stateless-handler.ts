import type { IncomingRequest } from "../../jsonrpc/inbound.ts";
import { type Notification, rpcCodes } from "../../jsonrpc/message.ts";
import { toLimitFailure } from "../../protocol/limit-error.ts";
import { type DiscoverResult, methodRow } from "../../protocol/methods.ts";
import type { ServerCapabilities } from "../../protocol/peer.ts";
import { isLegacy, isRevision, type LegacyRevision, newestLegacy } from "../../protocol/revision.ts";
import type { CallOrigin, Service } from "../../protocol/service.ts";
import type { Clock } from "../../std/clock.ts";
import type { HttpRequestInfo } from "../../std/http-request-info.ts";
import { answerCall, createNotificationQueue } from "../../transport/answer-call.ts";
import type { HttpCaller } from "../../transport/http/fair-gate.ts";
import { type HttpReply, refusal, sendAnswer } from "../../transport/http/http-message.ts";
import { HttpIncomingRequest, type RequestRules } from "../../transport/http/http-request.ts";
import type { LegacyHandler } from "../../transport/http/legacy-handlers.ts";
import { createOpenRequests } from "../../transport/http/modern-handler.ts";
import { legacyServer } from "../codec/server-codec.ts";

export interface StatelessOptions extends Omit<RequestRules, "ended" | "plainErrors"> {
  readonly service: Service;
  readonly clock: Clock;
  readonly drainMs: number;
  discover(client: CallOrigin): Promise<DiscoverResult>;
}

/**
 * Serves clients of older revisions without sessions: each request on its own.
 *
 * They can receive progress during a call, and nothing else: they are not asked, changes are not announced, and the
 * server chooses the log level.
 */
export function createStatelessHandler(options: StatelessOptions): LegacyHandler {
  const { service, discover } = options;
  const open = createOpenRequests(options);
  const rules: RequestRules = { ...options, plainErrors: true, ended: open.delete };

  const greet = async (incoming: IncomingRequest): Promise<void> => {
    const { params } = incoming.request;
    const { protocolVersion } = params;
    const asked = isRevision(protocolVersion) && isLegacy(protocolVersion) ? protocolVersion : newestLegacy;
    const codec = legacyServer(asked);
    const decoded = codec.decodeInitializeRequest(params);
    if (!decoded.ok) return void incoming.refuse(codec.encodeFailure(decoded.failure));
    try {
      const server = await discover({ peer: { revision: asked, ...decoded.value }, http: incoming.via.http });
      incoming.succeed(codec.encodeInitializeResult({ ...server, capabilities: alone(server.capabilities) }));
    } catch (error) {
      console.error("plugbay: the service does not say what it is:", error);
      incoming.fail({ code: rpcCodes.internal, message: "internal error" });
    }
  };

  const serve = async (incoming: IncomingRequest, revision: LegacyRevision): Promise<void> => {
    const codec = legacyServer(revision);
    const decoded = codec.decodeCall(incoming.request, { peer: { revision, capabilities: {} }, logLevel: undefined });
    if (!decoded.ok) return void incoming.fail(codec.encodeFailure(decoded.failure));
    await answerCall(incoming, decoded.value, { codec, serve: service });
  };

  // The gate bounds those of all clients together.
  const notifications = createNotificationQueue(Number.POSITIVE_INFINITY);

  const onNotification = (notification: Notification, http: HttpRequestInfo, { caller, held }: HttpReply): void => {
    const revision = statedRevision(http.header("mcp-protocol-version"));
    const source = { peer: { revision, capabilities: {} }, logLevel: undefined };
    const via = { http, send: () => undefined, hold: () => held.hold(), release: () => held.release() };
    notifications.add({ gate: caller.gate, notification, via, source }, (incoming, wire) =>
      answerCall(incoming, wire, { codec: legacyServer(revision), serve: service }),
    );
  };

  const run = (incoming: HttpIncomingRequest, revision: LegacyRevision, { gate }: HttpCaller): void => {
    const short = gate.run(() => serve(incoming, revision), incoming);
    if (short !== undefined) incoming.fail(legacyServer(revision).encodeFailure(toLimitFailure(short)));
  };

  const start = (incoming: HttpIncomingRequest, stated: string | undefined, caller: HttpCaller): void => {
    const { method } = incoming.request;
    const revision = statedRevision(stated);
    if (method === "ping") incoming.succeed({});
    else if (method === "initialize") void greet(incoming);
    else if (runs(method)) run(incoming, revision, caller);
    else void serve(incoming, revision);
  };

  return {
    post(message, head, reply) {
      if (message.kind === "notification") onNotification(message, head, reply);
      if (message.kind !== "request") return acknowledge(message.kind === "batch", reply);
      const incoming = new HttpIncomingRequest(message, head, reply, rules);
      open.add(incoming);
      start(incoming, head.header("mcp-protocol-version"), reply.caller);
    },
    get: (_head, reply) => refuse(405, "there are no sessions, and so no streams", reply),
    delete: (_head, reply) => refuse(405, "there are no sessions", reply),
    drain: open.drain,
  };
}

/** The revision that a request without a session states by its header. */
function statedRevision(stated: string | undefined): LegacyRevision {
  return isRevision(stated) && isLegacy(stated) ? stated : "2025-03-26";
}

/** Whether a method runs code of the author. Methods of the handshake are not in the table. */
function runs(method: string): boolean {
  return method !== "ping" && method !== "initialize" && methodRow(method).runs === true;
}

function acknowledge(batch: boolean, reply: HttpReply): void {
  if (batch) return void refuse(400, "batches are not supported; send one message a request", reply);
  reply.send(202, {}, "");
}

function refuse(status: number, message: string, reply: HttpReply): void {
  sendAnswer(reply, refusal(status, message, status === 405 ? { allow: "POST, OPTIONS" } : {}));
}

/** What is left of the capabilities when every request stands alone. */
function alone({ logging: _, ...capabilities }: ServerCapabilities): ServerCapabilities {
  const entries = Object.entries(capabilities).map(([name, value]) => {
    const { listChanged: _listChanged, subscribe: _subscribe, ...rest } = value as Record<string, unknown>;
    return [name, rest];
  });
  return Object.fromEntries(entries) as ServerCapabilities;
}
