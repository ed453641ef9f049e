import { isObject } from "../../json/json.ts";
import { type Notification, type Request, rpcCodes } from "../../jsonrpc/message.ts";
import { headerProblem } from "../../protocol/codec/headers.ts";
import { modernServer as codec } from "../../protocol/codec/server-codec.ts";
import type { AllLimits } from "../../protocol/limits.ts";
import { metaKeys } from "../../protocol/meta.ts";
import type { DiscoverResult } from "../../protocol/methods.ts";
import type { Service } from "../../protocol/service.ts";
import type { Clock } from "../../std/clock.ts";
import { LinkedSet } from "../../std/linked-set.ts";
import { createModernDispatcher } from "../modern-dispatcher.ts";
import type { HttpHead, HttpReply } from "./http-message.ts";
import { HttpIncomingRequest, type RequestRules } from "./http-request.ts";

export interface ModernHandlerOptions extends Omit<RequestRules, "ended"> {
  readonly service: Service;
  readonly clock: Clock;
  readonly limits: AllLimits;
  readonly drainMs: number;
  discover(): Promise<DiscoverResult>;
}

/** Serves requests that state their sender, independently of each other. */
export interface ModernHandler {
  post(request: Request, head: HttpHead, reply: HttpReply): void;
  /** Hands a notification to the service. */
  notification(notification: Notification, head: HttpHead, reply: HttpReply): void;
  /** Ends subscriptions with a result, answers what is open for a while, then ends the rest. */
  close(): Promise<void>;
}

export function createModernHandler(options: ModernHandlerOptions): ModernHandler {
  const { service, clock, heartbeat, limits, discover } = options;
  // The gate bounds those of all clients together.
  const maxNotifications = Number.POSITIVE_INFINITY;
  const dispatcher = createModernDispatcher({
    service,
    peer: { notify: () => undefined },
    maxUriLength: limits.maxUriLength,
    maxNotifications,
    discover,
  });
  const open = createOpenRequests(options);

  const rules: RequestRules = {
    ...options,
    ended: (incoming) => open.delete(incoming),
  };

  /** Where a client that leaves is noticed by nothing but writing to it, what takes long becomes a stream. */
  const streamLater = (incoming: HttpIncomingRequest): void => {
    if (clock.requestBound === true && heartbeat.intervalMs > 0)
      clock.after(heartbeat.intervalMs, () => incoming.openStream());
  };

  return {
    post(request, head, reply) {
      const incoming = new HttpIncomingRequest(request, head, reply, rules);
      open.add(incoming);
      const problem = disagreement(request, head);
      if (problem !== undefined) {
        return incoming.refuse(codec.encodeFailure({ code: "header-mismatch", message: problem }));
      }
      reply.onGone(incoming);
      streamLater(incoming);
      void dispatcher.request(incoming, reply.caller);
    },
    notification(notification, http, { caller, held }) {
      const via = { http, send: () => undefined, hold: () => held.hold(), release: () => held.release() };
      dispatcher.notification(notification, via, caller.gate);
    },
    close() {
      dispatcher.endListening();
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

/** The openRequests of one handler that are not over yet. */
interface OpenRequests {
  add(incoming: HttpIncomingRequest): void;
  delete(incoming: HttpIncomingRequest): void;
  /** Resolves when all are over. Those that take too long are ended with an error. */
  drain(): Promise<void>;
}

export function createOpenRequests({ clock, drainMs }: { clock: Clock; drainMs: number }): OpenRequests {
  const open = new LinkedSet<HttpIncomingRequest>();
  let drained = (): void => {};

  const endAll = (): void => {
    const openRequests = open.toArray();
    for (const { abort } of openRequests) abort.abort("the server is closing");
    for (const incoming of openRequests) incoming.fail({ code: rpcCodes.internal, message: "the server is closing" });
  };

  return {
    add: (incoming) => open.add(incoming),
    delete(incoming) {
      open.delete(incoming);
      if (open.size === 0) drained();
    },
    async drain() {
      if (open.size === 0) return;
      const stop = clock.after(drainMs, endAll);
      await new Promise<void>((resolve) => {
        drained = resolve;
      });
      stop();
    },
  };
}
