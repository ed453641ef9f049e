import { answerCall } from "../../../codec/answer.ts";
import { legacyServer } from "../../../codec/legacy-server.ts";
import type { Exchange } from "../../../jsonrpc/inbound.ts";
import { rpcCodes } from "../../../jsonrpc/message.ts";
import { type DiscoverResult, methodRow } from "../../../model/methods.ts";
import type { ServerCapabilities } from "../../../model/peer.ts";
import { isLegacy, isRevision, type LegacyRevision, newestLegacy } from "../../../model/revision.ts";
import type { Service } from "../../../model/service.ts";
import type { Clock } from "../../../std/clock.ts";
import { createGate } from "../../../std/gate.ts";
import type { HttpFacts } from "../../../std/http-facts.ts";
import { type ExchangeRules, HttpExchange } from "../http-exchange.ts";
import { refusal } from "../http-message.ts";
import { type HttpReply, refuseBusy, sendAnswer } from "../http-reply.ts";
import { createOpenExchanges } from "../open-exchanges.ts";
import type { LegacyDoor } from "./sessions.ts";

export interface StatelessOptions extends Omit<ExchangeRules, "ended" | "plainErrors"> {
  readonly service: Service;
  readonly clock: Clock;
  readonly maxConcurrent: number;
  readonly maxQueued: number;
  readonly drainMs: number;
  discover(http?: HttpFacts): Promise<DiscoverResult>;
}

/**
 * Serves clients of older revisions without sessions: each request on its own.
 *
 * They can be told of progress while they wait, and no more: nothing is asked of
 * them, nothing announced, and the log level is the server's choice.
 */
export function createStatelessDoor(options: StatelessOptions): LegacyDoor {
  const { service, maxConcurrent, maxQueued, discover } = options;
  const gate = createGate({ maxRunning: maxConcurrent, maxWaiting: maxQueued || Number.POSITIVE_INFINITY });
  const open = createOpenExchanges(options);
  const rules: ExchangeRules = { ...options, plainErrors: true, ended: open.delete };

  const greet = async (exchange: Exchange): Promise<void> => {
    const { protocolVersion } = exchange.request.params;
    const asked = isRevision(protocolVersion) && isLegacy(protocolVersion) ? protocolVersion : newestLegacy;
    const codec = legacyServer(asked);
    try {
      const server = await discover(exchange.via.http);
      exchange.succeed(codec.encodeWelcome({ ...server, capabilities: alone(server.capabilities) }));
    } catch (error) {
      console.error("plugbay: the service does not say what it is:", error);
      exchange.fail({ code: rpcCodes.internal, message: "internal error" });
    }
  };

  const serve = async (exchange: Exchange, revision: LegacyRevision): Promise<void> => {
    const codec = legacyServer(revision);
    const decoded = codec.decodeCall(exchange.request, { peer: { revision, capabilities: {} }, logLevel: undefined });
    if (!decoded.ok) return void exchange.fail(codec.encodeFailure(decoded.failure));
    await answerCall(exchange, decoded.value, { codec, serve: service });
  };

  const start = (exchange: HttpExchange, stated: string | undefined): void => {
    const { method } = exchange.request;
    const revision = isRevision(stated) && isLegacy(stated) ? stated : "2025-03-26";
    if (method === "ping") exchange.succeed({});
    else if (method === "initialize") void greet(exchange);
    else if (runs(method)) void gate.run(() => serve(exchange, revision));
    else void serve(exchange, revision);
  };

  return {
    post(message, head, reply) {
      if (message.kind !== "request") return acknowledge(message.kind === "batch", reply);
      if (gate.full && runs(message.method)) return refuseBusy(reply);
      const exchange = new HttpExchange(message, head, reply, rules);
      open.add(exchange);
      start(exchange, head.header("mcp-protocol-version"));
    },
    get: (_head, reply) => refuse(405, "there are no sessions, and so no streams", reply),
    delete: (_head, reply) => refuse(405, "there are no sessions", reply),
    drain: open.drain,
  };
}

/** Whether a method runs what somebody wrote. Those of the handshake are not in the table. */
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
