import type { Channel } from "../../jsonrpc/channel.ts";
import { encodeMessage, type Incoming, parseText } from "../../jsonrpc/message.ts";
import { authOf } from "../../protocol/authenticator.ts";
import type { Account, Held, Ledger, Shortage } from "../../protocol/budget.ts";
import { RETRY_AFTER_MS } from "../../protocol/limit-error.ts";
import type { AllLimits } from "../../protocol/limits.ts";
import type { Service } from "../../protocol/service.ts";
import { bytesOf } from "../../protocol/shares.ts";
import { asyncQueue } from "../../std/async-queue.ts";
import { sseEvent } from "../../std/sse.ts";
import type { ChannelBounds, ChannelLimit } from "../../transport/channel-bounds.ts";
import { openLiveSink, type SinkRules } from "../../transport/http/event-sink.ts";
import {
  type HttpHead,
  type HttpHeaders,
  type HttpReply,
  pathOf,
  refusal,
  sendAnswer,
} from "../../transport/http/http-message.ts";
import type { SseHandler } from "../../transport/http/legacy-handlers.ts";
import { limitAnswer } from "../../transport/http/limit-answer.ts";
import { type ChannelOptions, type Serving, serveChannel } from "../../transport/serve-channel.ts";
import { createSessionId } from "./session-store.ts";

export interface SseHandlerOptions extends SinkRules, ChannelOptions {
  readonly service: Service;
  /** Where clients open their stream. */
  readonly path: string;
  /** Where they post. */
  readonly messagesPath: string;
  readonly limits: AllLimits;
  readonly ledger: Ledger;
}

interface SseConnection {
  /** The caller that opened it, where it is authenticated. Other callers must not post to it. */
  readonly principal: string | undefined;
  readonly serving: Serving;
  readonly share: Account;
  /** What is held of its client until it ends. */
  heldBytes: number;
  /** Posts that are taken one after the other, and how many of them wait. */
  taking: Promise<void>;
  waiting: number;
}

/** Posts of one client that wait to be read. */
const MAX_WAITING = 64;

export function createSseHandler(options: SseHandlerOptions): SseHandler {
  const { service, path, messagesPath, limits, ledger } = options;
  const lines = new Map<string, SseConnection>();

  const bounds = toBounds(limits, ledger);

  const open = (head: HttpHead, reply: HttpReply): void => {
    const { share } = reply.caller;
    const short = share.take("sessions");
    if (short !== undefined) return void sendAnswer(reply, limitAnswer(short));
    const id = createSessionId();
    /** What a client posts is taken beside it; it only ends. */
    const queue = asyncQueue<never>();
    const sink = openLiveSink(reply, options);
    sink.write(sseEvent({ event: "endpoint", data: `${messagesPath}?sessionId=${id}` }));
    const channel: Channel = {
      incoming: queue,
      http: head,
      send: (message) => sink.write(sseEvent({ event: "message", data: encodeMessage(message) })),
      async close() {
        share.give("heldBytes", lines.get(id)?.heldBytes ?? 0);
        if (lines.delete(id)) share.give("sessions");
        queue.end();
        sink.end();
      },
    };
    const serving = serveChannel(channel, service, { ...options, bounds, caller: reply.caller });
    const principal = authOf(head)?.principal;
    lines.set(id, { principal, serving, share, heldBytes: 0, taking: Promise.resolve(), waiting: 0 });
    reply.onGone({ gone: () => void serving.close() });
  };

  const post = (head: HttpHead, body: string, reply: HttpReply): void => {
    const line = lines.get(new URLSearchParams(head.url.split("?")[1]).get("sessionId") ?? "");
    if (line === undefined || line.principal !== authOf(head)?.principal)
      return void refuse(reply, 404, `there is no such session; open one at ${path}`);
    if (line.waiting >= MAX_WAITING)
      return void refuse(reply, 503, "too many messages of this session wait", retrySoon);
    const message = parseText(body, limits);
    const short = takeClient(line, message, body);
    if (short !== undefined) return void sendAnswer(reply, limitAnswer(short));
    enqueue(line, message, head, reply);
    reply.send(202, { "content-type": "text/plain" }, "Accepted");
  };

  return {
    handle(head, body, reply) {
      const wanted = pathOf(head.url) === path ? "GET" : "POST";
      if (head.method !== wanted) return refuse(reply, 405, `use ${wanted} here`, { allow: wanted });
      if (wanted === "GET") open(head, reply);
      else post(head, body, reply);
    },
    async drain() {
      await Promise.all([...lines.values()].map(({ serving }) => serving.drain()));
    },
  };
}

/** What a client says of itself is held until it ends. */
function takeClient(line: SseConnection, message: Incoming, body: string): Shortage | undefined {
  if (message.kind !== "request" || message.method !== "initialize") return undefined;
  const bytes = bytesOf(body);
  const short = line.share.take("heldBytes", bytes);
  if (short === undefined) line.heldBytes += bytes;
  return short;
}

/** Takes a message after those before it, with the head of the request that brought it and in its async context. */
function enqueue(line: SseConnection, message: Incoming, head: HttpHead, { held }: HttpReply): void {
  line.waiting++;
  held.hold();
  line.taking = line.taking.then(() => {
    line.waiting--;
    const busy = line.serving.take(message, head, held);
    held.release();
    return busy;
  });
}

/** The bounds of a stream, which is a connection of its caller. */
function toBounds(limits: AllLimits, ledger: Ledger): ChannelBounds {
  const of: ChannelBounds["of"] = (limit) => ({
    limit,
    max: ledger.max("connection", kindOf[limit]),
    scope: "connection",
    retryAfterMs: RETRY_AFTER_MS,
  });
  return { limits, of, refuse: of };
}

const kindOf: Readonly<Record<ChannelLimit, Held>> = {
  maxHeldBytes: "heldBytes",
  maxRunningCalls: "runningCalls",
  maxQueuedCalls: "queuedCalls",
  maxOpenRequests: "openRequests",
  maxStreams: "streams",
  maxSubscriptions: "subscriptions",
};

const retrySoon: HttpHeaders = { "retry-after": "1" };

function refuse(reply: HttpReply, status: number, message: string, headers: HttpHeaders = {}): void {
  sendAnswer(reply, refusal(status, message, headers));
}
