import type { JsonLimits } from "../../json/parse.ts";
import type { Channel } from "../../jsonrpc/channel.ts";
import { encodeMessage, type Incoming, parseText } from "../../jsonrpc/message.ts";
import { authOf } from "../../protocol/authenticator.ts";
import type { Service } from "../../protocol/service.ts";
import { asyncQueue } from "../../std/async-queue.ts";
import { sseEvent } from "../../std/sse.ts";
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
import { type ServeChannelOptions, type Serving, serveChannel } from "../../transport/serve-channel.ts";
import { createSessionId } from "./session-store.ts";

export interface SseHandlerOptions extends SinkRules, ServeChannelOptions {
  readonly service: Service;
  /** Where clients open their stream. */
  readonly path: string;
  /** Where they post. */
  readonly messagesPath: string;
  readonly maxSessions: number;
  readonly jsonLimits?: JsonLimits | undefined;
}

interface SseConnection {
  /** Who opened it, where that was found out. Nobody else may post to it. */
  readonly principal: string | undefined;
  readonly serving: Serving;
  /** Posts that are taken one after the other, and how many of them wait. */
  taking: Promise<void>;
  waiting: number;
}

/** Posts of one client that wait to be read. */
const MAX_WAITING = 64;

export function createSseHandler(options: SseHandlerOptions): SseHandler {
  const { service, path, messagesPath, maxSessions, jsonLimits } = options;
  const lines = new Map<string, SseConnection>();

  const open = (head: HttpHead, reply: HttpReply): void => {
    if (lines.size >= maxSessions)
      return void refuse(reply, 429, "there are too many sessions", { "retry-after": "10" });
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
        lines.delete(id);
        queue.end();
        sink.end();
      },
    };
    const serving = serveChannel(channel, service, options);
    lines.set(id, { principal: authOf(head)?.principal, serving, taking: Promise.resolve(), waiting: 0 });
    reply.onGone(() => void serving.close());
  };

  const post = (head: HttpHead, body: string, reply: HttpReply): void => {
    const line = lines.get(new URLSearchParams(head.url.split("?")[1]).get("sessionId") ?? "");
    if (line === undefined || line.principal !== authOf(head)?.principal)
      return void refuse(reply, 404, `there is no such session; open one at ${path}`);
    if (line.waiting >= MAX_WAITING)
      return void refuse(reply, 503, "too many messages of this session wait", retrySoon);
    enqueue(line, parseText(body, jsonLimits), head);
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

/** Takes a message after those before it, with the head of the request that brought it and in its async context. */
function enqueue(line: SseConnection, message: Incoming, head: HttpHead): void {
  line.waiting++;
  line.taking = line.taking.then(() => {
    line.waiting--;
    return line.serving.take(message, head);
  });
}

const retrySoon: HttpHeaders = { "retry-after": "1" };

function refuse(reply: HttpReply, status: number, message: string, headers: HttpHeaders = {}): void {
  sendAnswer(reply, refusal(status, message, headers));
}
