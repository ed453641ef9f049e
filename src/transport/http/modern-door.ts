import { modernServer as codec } from "../../codec/modern-server.ts";
import { headerProblem } from "../../codec/standard-headers.ts";
import { isObject } from "../../json/json.ts";
import type { Request } from "../../jsonrpc/message.ts";
import { metaKeys } from "../../model/meta.ts";
import { type DiscoverResult, methodRow } from "../../model/methods.ts";
import type { Service } from "../../model/service.ts";
import type { Clock } from "../../std/clock.ts";
import { createGate } from "../../std/gate.ts";
import { createModernDesk } from "../modern-desk.ts";
import { type ExchangeRules, HttpExchange } from "./http-exchange.ts";
import type { HttpHead } from "./http-message.ts";
import { type HttpReply, refuseBusy } from "./http-reply.ts";
import { createOpenExchanges } from "./open-exchanges.ts";

export interface ModernDoorOptions extends Omit<ExchangeRules, "ended"> {
  readonly service: Service;
  readonly clock: Clock;
  readonly maxConcurrent: number;
  readonly maxQueued: number;
  readonly maxListeners: number;
  readonly drainMs: number;
  discover(): Promise<DiscoverResult>;
}

/** Serves requests that say who sends them, each on its own. */
export interface ModernDoor {
  post(request: Request, head: HttpHead, reply: HttpReply): void;
  /** Ends subscriptions with a result, answers what is open for a while, then ends the rest. */
  close(): Promise<void>;
}

export function createModernDoor(options: ModernDoorOptions): ModernDoor {
  const { service, maxConcurrent, maxQueued, maxListeners, discover } = options;
  const gate = createGate({ maxRunning: maxConcurrent, maxWaiting: maxQueued || Number.POSITIVE_INFINITY });
  const desk = createModernDesk({ service, peer: { notify: () => undefined }, gate, discover });
  const open = createOpenExchanges(options);
  let listening = 0;

  const rules: ExchangeRules = {
    ...options,
    ended(exchange) {
      open.delete(exchange);
      if (methodRow(exchange.request.method).open) listening--;
    },
  };

  const isTooMuch = (method: string): boolean => {
    const row = methodRow(method);
    return row.open === true ? listening >= maxListeners : row.runs === true && gate.full;
  };

  return {
    post(request, head, reply) {
      if (isTooMuch(request.method)) return refuseBusy(reply);
      const exchange = new HttpExchange(request, head, reply, rules);
      open.add(exchange);
      if (methodRow(request.method).open) listening++;
      const problem = disagreement(request, head);
      if (problem !== undefined) {
        return exchange.refuse(codec.encodeFailure({ code: "header-mismatch", message: problem }));
      }
      reply.onGone(() => exchange.cancel());
      void desk.request(exchange);
    },
    close() {
      desk.endListening();
      return open.drain();
    },
  };
}

/** Where headers and body say different things. What the body must say and does not is for the codec to judge. */
function disagreement(request: Request, head: HttpHead): string | undefined {
  const { _meta: meta } = request.params;
  if (!isObject(meta) || !isObject(meta[metaKeys.clientCapabilities])) return undefined;
  const version = meta[metaKeys.protocolVersion];
  return typeof version === "string" ? headerProblem(request, version, head) : undefined;
}
