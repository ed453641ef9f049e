import { isObject } from "../../../json/json.ts";
import type { Failure, Id, Malformed, Message, Parsed, Request, Response } from "../../../jsonrpc/message.ts";
import { parseReply } from "../../../jsonrpc/parse-reply.ts";
import { McpError } from "../../../protocol/errors.ts";
import type { MessageLimits } from "../../../protocol/limits.ts";
import type { Deadline, Deadlines } from "../../../std/deadlines.ts";
import { type Linked, LinkedSet } from "../../../std/linked-set.ts";
import { createSseParser, type SseItem } from "../../../std/sse.ts";
import { quote } from "../../../std/text.ts";
import { type IncomingResponse, isJsonType } from "../http-message.ts";
import { brokenOff, refusedError, statusText, tooLarge } from "./http-errors.ts";

export function isEventStream(response: IncomingResponse): boolean {
  const type = response.header("content-type");
  // Most answers say just this, and need no closer look.
  if (type === undefined || type === "application/json") return false;
  return isOk(response.status) && /^text\/event-stream\s*(;|$)/i.test(type);
}

export function isOk(status: number): boolean {
  return status >= 200 && status < 300;
}

/**
 * The answer to request `id` in a body that is no stream. A failure in the body
 * of an error counts as the answer, unless the status says more than it does. A
 * request that was refused with 429 is `limit-reached`.
 *
 * Rejects with an `McpError` when there is none.
 */
export async function readAnswer(response: IncomingResponse, id: Id, limits: MessageLimits): Promise<Response> {
  if (!isOk(response.status)) return readRefusal(response, id, limits);
  const type = response.header("content-type");
  if (!isJsonType(type)) {
    response.discard();
    throw new McpError("invalid-response", noAnswer(response, `a body of type ${quote(type)}`) + pageHint(type));
  }
  const text = await response.text(limits.maxMessageBytes);
  const parsed = parseReply(text, limits);
  const answer = answerIn(parsed, id);
  if (answer !== undefined) return answer;
  const what = parsed.kind === "malformed" ? `something else (${parsed.error.message})` : "something else";
  throw new McpError("invalid-response", noAnswer(response, text === "" ? "an empty body" : what));
}

function pageHint(type: string | undefined): string {
  const isPage = type === undefined || /^text\/(html|plain)\b/.test(type);
  return isPage ? "; is this the URL of an MCP server, and not of a web page?" : "";
}

function noAnswer({ status }: IncomingResponse, how: string): string {
  return `the server answered ${statusText(status)} with ${how} instead of a response`;
}

/** Statuses with headers that whoever handles them needs. */
const telling: ReadonlySet<number> = new Set([401, 403, 429, 503]);

async function readRefusal(response: IncomingResponse, id: Id, limits: MessageLimits): Promise<Response> {
  const text = await response.text(limits.maxMessageBytes).catch(() => "");
  const answer = answerIn(parseReply(text, limits), id);
  const failure = answer?.kind === "failure" ? answer : undefined;
  if (failure !== undefined && (!telling.has(response.status) || saysWhen(failure))) return failure;
  throw refusedError(response, failure?.error.message);
}

/** An error that says itself when the request can be sent again needs no help of the headers. */
function saysWhen({ error: { data } }: Failure): boolean {
  return isObject(data) && typeof data.retryAfterMs === "number";
}

/** The response to `id` in what was read. An error without an id can only be meant for it. */
function answerIn(parsed: Parsed, id: Id): Response | undefined {
  for (const message of messagesIn(parsed)) {
    if (message.kind === "failure" && message.id === null) return { ...message, id };
    if (isAnswerTo(message, id)) return message;
  }
  return undefined;
}

export function isAnswerTo(message: Message | Malformed, id: Id): message is Response {
  return (message.kind === "success" || message.kind === "failure") && message.id === id;
}

/** One by one, for it does not matter here whether they came in an array. */
function messagesIn(parsed: Parsed): readonly (Message | Malformed)[] {
  return parsed.kind === "batch" ? parsed.items : [parsed];
}

/** Called with messages of a stream. A returned promise is backpressure. */
export type TakeItems = (items: readonly SseItem[]) => Promise<void> | undefined;

/** Reads a stream of events to its end. Rejects when it breaks, or `take` throws. */
export async function readEvents(response: IncomingResponse, maxBytes: number, take: TakeItems): Promise<void> {
  const parser = createSseParser({ maxEventBytes: Number.isFinite(maxBytes) ? maxBytes : 0 });
  try {
    await response.read((chunk) => take(parser.push(chunk)));
  } finally {
    take(parser.end());
  }
}

/**
 * The messages of an event. Events of other names are none of the protocol.
 * Throws `limit-reached` for one that was too large to read.
 */
export function messagesOf(item: SseItem, limits: MessageLimits): readonly (Message | Malformed)[] {
  const { maxMessageBytes } = limits;
  const isTooLarge = item.kind === "event" && item.data.length > maxMessageBytes;
  if (item.kind === "too-large" || isTooLarge) throw tooLarge("an event", maxMessageBytes);
  return item.kind === "event" && item.event === "message" ? messagesIn(parseReply(item.data, limits)) : [];
}

/** Streams that have brought what they were for, and that their servers are about to end. */
export interface Lingering {
  /** Gives the server a moment to end the stream, so that its connection can be used again. */
  add(response: IncomingResponse): Linger;
  close(): void;
}

export interface Linger {
  /** The stream has ended. */
  over(): void;
}

const lingerMs = 2_000;

export function createLingering(deadlines: Deadlines): Lingering {
  const streams = new LinkedSet<LingeringStream>();
  return {
    add: (response) => new LingeringStream(response, streams, deadlines),
    close() {
      for (const stream of streams.toArray()) stream.giveUp();
    },
  };
}

class LingeringStream implements Linger, Linked<LingeringStream> {
  previous: LingeringStream | undefined;
  next: LingeringStream | undefined;
  readonly #response: IncomingResponse;
  readonly #among: LinkedSet<LingeringStream>;
  readonly #deadline: Deadline;

  constructor(response: IncomingResponse, among: LinkedSet<LingeringStream>, deadlines: Deadlines) {
    this.#response = response;
    this.#among = among;
    this.#deadline = deadlines.start({ idleMs: 0, totalMs: lingerMs }, () => this.giveUp());
    among.add(this);
  }

  over(): void {
    if (this.#among.delete(this)) this.#deadline.stop();
  }

  giveUp(): void {
    this.over();
    this.#response.discard();
  }
}

/** A stream of events that answers one request. */
export interface ResponseStream {
  readonly response: IncomingResponse;
  readonly request: Pick<Request, "id" | "method">;
  /** Called with messages before the response. */
  onMessage(message: Message | Malformed): void;
}

/**
 * The response, as soon as the stream contains it. Rejects with an `McpError` when the stream ends without it: streams
 * of this revision cannot be resumed.
 */
export function readResponseStream(
  { response, request, onMessage }: ResponseStream,
  limits: MessageLimits,
  lingering: Lingering,
): Promise<Response> {
  const { id, method } = request;
  return new Promise((resolve, reject) => {
    let over = false;
    let lingers: Linger | undefined;

    const take = (message: Message | Malformed): void => {
      if (over) return;
      over = endsRequest(message, id);
      if (isAnswerTo(message, id)) resolve(message);
      else if (message.kind === "malformed" && over) reject(brokenAnswer(method, message));
      else onMessage(message);
    };

    readEvents(response, limits.maxMessageBytes, (items) => {
      if (over) return undefined;
      for (const item of items) for (const message of messagesOf(item, limits)) take(message);
      if (over) lingers = lingering.add(response);
      return undefined;
    })
      .then(
        () => reject(brokenOff(method)),
        (error) => reject(error instanceof McpError ? error : brokenOff(method, error)),
      )
      .finally(() => lingers?.over());
  });
}

/** True for the last message of a request: its response, complete or broken, or the end by the server. */
function endsRequest(message: Message | Malformed, id: Id): boolean {
  switch (message.kind) {
    case "request":
      return false;
    case "notification":
      return message.method === "notifications/cancelled" && message.params.requestId === id;
    case "malformed":
      return !message.answerable && message.id === id;
    default:
      return message.id === id;
  }
}

function brokenAnswer(method: string, { error }: Malformed): McpError {
  return new McpError("invalid-response", `the response to ${method} is malformed: ${error.message}`);
}
