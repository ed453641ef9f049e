import type { Channel } from "../../jsonrpc/channel.ts";
import { encodeMessage, type Id, type Incoming, type Message } from "../../jsonrpc/message.ts";
import { McpError } from "../../protocol/errors.ts";
import { createDeadlines } from "../../std/deadlines.ts";
import { LazyAbort } from "../../std/lazy-abort.ts";
import type { SseItem } from "../../std/sse.ts";
import { type Endpoint, postHeaders } from "../../transport/http/client/http-endpoint.ts";
import { httpError, networkError, statusText } from "../../transport/http/client/http-errors.ts";
import { isEventStream, isOk, messagesOf, readAnswer, readEvents } from "../../transport/http/client/read-response.ts";
import type { IncomingResponse } from "../../transport/http/http-message.ts";
import type { HttpChannelOptions } from "../../transport/legacy-client.ts";
import { maskError } from "../../transport/send-call.ts";
import { createInbox } from "./inbox.ts";

/**
 * Speaks JSON-RPC over HTTP+SSE, the transport of 2024-11-05.
 *
 * One stream brings everything, and begins by telling where messages are to be
 * POSTed: that must be the origin of the stream itself. When the stream ends, so
 * does the channel.
 */
export function createSseChannel(options: HttpChannelOptions): Channel {
  const { endpoint, clock, timeoutMs, warn, limits } = options;
  const inbox = createInbox();
  const deadlines = createDeadlines(clock);
  const stream = new LazyAbort();
  const posts = new Set<LazyAbort>();
  let waiting: Message[] = [];
  let target: Endpoint | undefined;

  const read = (item: SseItem): readonly Incoming[] => {
    if (item.kind !== "event" || item.event !== "endpoint") return messagesOf(item, limits);
    if (target === undefined) moveTo(targetOf(item.data, endpoint.url));
    return [];
  };

  const moveTo = (url: URL): void => {
    target = endpoint.at(url);
    const messages = waiting;
    waiting = [];
    for (const message of messages) void post(message, encodeMessage(message), target);
  };

  const listen = async (): Promise<never> => {
    const response = await endpoint.send({ method: "GET", headers: { accept: "text/event-stream" } }, stream);
    if (!isEventStream(response)) throw noStream(response);
    await readEvents(response, limits.maxMessageBytes, (items) => {
      const news = items.flatMap(read);
      return news.length === 0 ? undefined : inbox.put(news);
    });
    throw new McpError("connection-closed", `${endpoint.url.origin} has ended the stream`);
  };

  /** Sends a message. Its answer comes over the stream; only what is wrong comes back at once. */
  const post = async (message: Message, body: string, to: Endpoint): Promise<void> => {
    const abort = new LazyAbort();
    const totalMs = message.kind === "request" ? 0 : timeoutMs;
    const deadline = deadlines.start({ idleMs: 0, totalMs }, () => abort.abort("timeout"));
    posts.add(abort);
    try {
      const own = "headers" in message ? message.headers : undefined;
      const response = await to.send({ method: "POST", headers: postHeaders, body, own }, abort);
      if (isOk(response.status)) response.discard();
      else if (message.kind === "request") inbox.put([await readAnswer(response, message.id, limits)]);
      else throw refused(response);
    } catch (cause) {
      if (posts.has(abort)) lose(message, cause);
    }
    posts.delete(abort);
    deadline.stop();
  };

  const lose = (message: Message, cause: unknown): void => {
    if (message.kind === "request") inbox.put([undelivered(message.id, cause)]);
    else warn({ kind: "not-honoured", message: notTaken(message, cause), cause });
  };

  const end = (): void => {
    stream.abort("closed");
    const aborts = [...posts];
    posts.clear();
    for (const abort of aborts) abort.abort("closed");
  };

  listen().catch((error: unknown) => {
    const cause = networkError(endpoint.url, error);
    for (const message of waiting) lose(message, cause);
    waiting = [];
    inbox.fail(cause);
    end();
  });

  return {
    incoming: inbox.incoming,
    mask: (error) => maskError(error, (target ?? endpoint).mask),
    send(message) {
      const body = encodeMessage(message);
      if (target !== undefined) void post(message, body, target);
      else waiting.push(message);
      return undefined;
    },
    async close() {
      waiting = [];
      inbox.end();
      end();
    },
  };
}

function notTaken(message: Message, cause: unknown): string {
  const what = message.kind === "notification" ? message.method : "an answer";
  return `the server did not take ${what}: ${cause instanceof Error ? cause.message : cause}`;
}

function undelivered(id: Id, cause: unknown): Incoming {
  return { kind: "undelivered", id, cause };
}

function targetOf(text: string, base: URL): URL {
  if (!URL.canParse(text, base))
    throw new McpError("invalid-response", "the endpoint event of the server has no URL to send messages to");
  const target = new URL(text, base);
  if (target.origin === base.origin) return target;
  throw new McpError(
    "invalid-response",
    `the server wants messages sent to another origin, ${target.origin}, which is not allowed`,
  );
}

function noStream(response: IncomingResponse): McpError {
  const error = refused(response);
  const message = `the server answered ${statusText(response.status)} without an event stream`;
  return isOk(response.status) ? new McpError("invalid-response", message) : error;
}

function refused(response: IncomingResponse): McpError {
  response.discard();
  return httpError(response);
}
