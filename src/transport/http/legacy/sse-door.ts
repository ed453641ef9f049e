import type { JsonLimits } from "../../../json/parse.ts";
import type { Channel } from "../../../jsonrpc/channel.ts";
import { encodeMessage, type Incoming, parseText } from "../../../jsonrpc/message.ts";
import { authOf } from "../../../model/authenticator.ts";
import type { Service } from "../../../model/service.ts";
import { type AsyncQueue, asyncQueue } from "../../../std/async-queue.ts";
import { sseEvent } from "../../../std/sse.ts";
import { type ServeOptions, type Serving, serveChannel } from "../../serve-channel.ts";
import { type HttpHead, type HttpHeaders, pathOf, refusal } from "../http-message.ts";
import { type HttpReply, sendAnswer } from "../http-reply.ts";
import { openLiveSink, type SinkRules } from "../live-sink.ts";
import { createSessionId } from "./session-id.ts";

export interface SseDoorOptions extends SinkRules, ServeOptions {
  readonly service: Service;
  /** Where clients open their stream. */
  readonly path: string;
  /** Where they post. */
  readonly messagesPath: string;
  readonly maxSessions: number;
  readonly jsonLimits?: JsonLimits | undefined;
}

/** The HTTP+SSE transport of 2024-11-05: one stream for all that is said to a client, which posts elsewhere. */
export interface SseDoor {
  readonly paths: readonly string[];
  handle(head: HttpHead, body: string, reply: HttpReply): void;
  drain(): Promise<void>;
}

interface Line {
  /** Who opened it, where that was found out. Nobody else may post to it. */
  readonly principal: string | undefined;
  readonly queue: AsyncQueue<readonly Incoming[]>;
  readonly serving: Serving;
}

/** Posts of one client that wait to be read. */
const MAX_WAITING = 64;

export function createSseDoor(options: SseDoorOptions): SseDoor {
  const { service, path, messagesPath, maxSessions, jsonLimits } = options;
  const lines = new Map<string, Line>();
  let draining = false;

  const open = (head: HttpHead, reply: HttpReply): void => {
    if (draining) return void refuse(reply, 503, "the server is closing", retrySoon);
    if (lines.size >= maxSessions)
      return void refuse(reply, 429, "there are too many sessions", { "retry-after": "10" });
    const id = createSessionId();
    const queue = asyncQueue<readonly Incoming[]>();
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
    lines.set(id, { principal: authOf(head)?.principal, queue, serving });
    reply.onGone(() => void serving.close());
  };

  const post = (head: HttpHead, body: string, reply: HttpReply): void => {
    const line = lines.get(new URLSearchParams(head.url.split("?")[1]).get("sessionId") ?? "");
    if (line === undefined || line.principal !== authOf(head)?.principal)
      return void refuse(reply, 404, `there is no such session; open one at ${path}`);
    if (line.queue.size >= MAX_WAITING)
      return void refuse(reply, 503, "too many messages of this session wait", retrySoon);
    line.queue.push([parseText(body, jsonLimits)]);
    reply.send(202, { "content-type": "text/plain" }, "Accepted");
  };

  return {
    paths: [path, messagesPath],
    handle(head, body, reply) {
      const wanted = pathOf(head.url) === path ? "GET" : "POST";
      if (head.method !== wanted) return refuse(reply, 405, `use ${wanted} here`, { allow: wanted });
      if (wanted === "GET") open(head, reply);
      else post(head, body, reply);
    },
    async drain() {
      draining = true;
      await Promise.all([...lines.values()].map(({ serving }) => serving.drain()));
    },
  };
}

const retrySoon: HttpHeaders = { "retry-after": "1" };

function refuse(reply: HttpReply, status: number, message: string, headers: HttpHeaders = {}): void {
  sendAnswer(reply, refusal(status, message, headers));
}
