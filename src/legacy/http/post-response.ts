import type { Sender } from "../../jsonrpc/channel.ts";
import {
  type Batch,
  type ErrorObject,
  encodeMessage,
  type Id,
  type Message,
  type Parsed,
  type Request,
  type Response,
  rpcCodes,
} from "../../jsonrpc/message.ts";
import type { Ledger } from "../../protocol/budget.ts";
import { type LimitReached, RETRY_AFTER_MS } from "../../protocol/limit-error.ts";
import { isLogLevel } from "../../protocol/logging.ts";
import type { Awaitable } from "../../std/awaitable.ts";
import type { HttpRequestInfo } from "../../std/http-request-info.ts";
import type { Heartbeat, HeartbeatListener } from "../../transport/http/heartbeat.ts";
import {
  type EventSink,
  type HttpAnswer,
  type HttpHeaders,
  type HttpReply,
  jsonHeaders,
  type PutOff,
  putOffBy,
  refusal,
  sendAnswer,
  streamHeaders,
} from "../../transport/http/http-message.ts";
import type { KeptSession } from "./session-store.ts";

/** The events that answer a POST. */
export interface AnswerStream {
  /** Writes a message. A promise means that something is slow: it resolves in time. */
  write(text: string): Promise<void> | undefined;
  attach(sink: EventSink): void;
  /** The connection broke. Of no effect if another has taken its place. */
  detach(sink: EventSink): void;
  /** Ends the connection, not the stream. */
  closeStream(retryMs?: number): void;
  /** Ends the stream after what was written. */
  end(): void;
}

/** What a POST needs of its session. */
export interface PostRules {
  readonly heartbeat: Heartbeat;
  /** Answers are streams, also those that could be plain. */
  readonly alwaysStream: boolean;
  /** Whether a client can wait for the answer elsewhere. */
  readonly resumable: boolean;
  /** A stream for the responses to a POST, which a client with the same permissions can resume. */
  createStream(posted: Parsed, http: HttpRequestInfo): AnswerStream;
  /** The text of a stream with these messages and no others. It can be picked up where the connection breaks. */
  whole(texts: readonly string[], http: HttpRequestInfo): string;
  openSink(reply: HttpReply, headers: HttpHeaders): EventSink;
  /** Where what is no answer goes when the client has left the POST. */
  readonly aside: Sender;
  /** Cancels the requests among what was posted. */
  cancel(posted: Parsed): void;
  /** Called when all requests are answered. */
  done(): void;
}

interface Post {
  readonly http: HttpRequestInfo;
  readonly reply: HttpReply;
  readonly posted: Parsed;
  /** How many answers it is to be given. */
  readonly expected: number;
}

/**
 * The way back of one POST with requests.
 *
 * One answer, or several to a batch, are plain JSON; when something is said
 * before the last of them, or it takes long, they are events of a stream, which
 * the client can pick up again when its connection breaks. A broken connection
 * cancels nothing.
 */
export class PostResponse implements Sender, HeartbeatListener {
  previous: HeartbeatListener | undefined = undefined;
  next: HeartbeatListener | undefined = undefined;
  readonly http: HttpRequestInfo;
  readonly #reply: HttpReply;
  readonly #rules: PostRules;
  readonly #posted: Parsed;
  readonly #answers: string[] = [];
  #expected: number;
  #stream: AnswerStream | undefined;
  #gone = false;
  /** True when the platform has ended the handlers. */
  #lost = false;
  #beats = 0;
  /** Set when the request was refused for now, and can be sent again. */
  #putOff: PutOff | undefined;
  /** Goes with the head of the answer. */
  headers: HttpHeaders = noHeaders;

  constructor(post: Post, rules: PostRules) {
    this.http = post.http;
    this.#reply = post.reply;
    this.#expected = post.expected;
    this.#posted = post.posted;
    this.#rules = rules;
    // A broken connection ends nothing: what was posted is held until all of it is answered.
    post.reply.held.hold();
    rules.heartbeat.add(this);
    post.reply.onGone(this);
    post.reply.onLost?.(() => {
      this.#lost = true;
      rules.cancel(post.posted);
    });
  }

  send(message: Message): Promise<void> | undefined {
    if (message.kind === "success" || message.kind === "failure") return this.#answer(message);
    if (this.#expected === 0 || (this.#gone && this.#stream === undefined)) return this.#rules.aside.send(message);
    return this.#open().write(encodeMessage(message));
  }

  /** The client is gone. */
  gone(): void {
    this.#gone = true;
  }

  hold(): void {
    this.#reply.held.hold();
  }

  release(): void {
    this.#reply.held.release();
  }

  drop(id: Id): void {
    // Who comes back for the answer is told that there will be none.
    if (this.#lost) return void this.#answer({ kind: "failure", id, error: goneError(false) });
    this.#expected--;
    this.#finish();
  }

  closeStream(retryMs?: number): void {
    if (this.#rules.resumable && !this.#gone && this.#expected > 0) this.#open().closeStream(retryMs);
  }

  /** Answers with a refusal of the whole POST, unless something was said already. */
  refuse(answer: HttpAnswer): void {
    this.#expected = 0;
    this.#rules.heartbeat.delete(this);
    if (this.#stream !== undefined) this.#stream.end();
    else if (!this.#gone) sendAnswer(this.#reply, answer);
    this.#done();
  }

  /** What takes long becomes a stream, which can be kept alive and picked up again. */
  beat(): void {
    if (++this.#beats > 1 && !this.#gone && this.#expected > 0) this.#open();
  }

  #answer(message: Response): Promise<void> | undefined {
    const text = encodeMessage(message);
    this.#expected--;
    if (message.kind === "failure" && this.#posted.kind === "request") this.#putOff = putOffBy(message.error);
    const slow = this.#stream?.write(text);
    if (this.#stream === undefined) this.#answers.push(text);
    this.#finish();
    return slow;
  }

  #open(): AnswerStream {
    if (this.#stream !== undefined) return this.#stream;
    const stream = this.#rules.createStream(this.#posted, this.http);
    this.#stream = stream;
    this.#rules.heartbeat.delete(this);
    const sink = this.#rules.openSink(this.#reply, this.headers);
    stream.attach(sink);
    this.#reply.onGone({ gone: () => stream.detach(sink) });
    for (const text of this.#answers) stream.write(text);
    return stream;
  }

  #finish(): void {
    if (this.#expected > 0) return;
    this.#rules.heartbeat.delete(this);
    if (this.#stream !== undefined) this.#stream.end();
    else if (!this.#gone && this.#putOff !== undefined) this.#sendWhole(this.#putOff);
    else if (!this.#gone && this.#rules.alwaysStream && this.#answers.length > 0) this.#sendStream();
    else if (!this.#gone) this.#sendWhole({ status: 200, headers: jsonHeaders });
    this.#done();
  }

  #done(): void {
    this.#reply.held.release();
    this.#rules.done();
  }

  /** A stream that is over when it begins goes out in one piece. Where that breaks off, it can be picked up. */
  #sendStream(): void {
    this.#reply.send(200, this.#headersWith(streamHeaders), this.#rules.whole(this.#answers, this.http));
  }

  #sendWhole({ status, headers }: Pick<HttpAnswer, "status" | "headers">): void {
    const [text = ""] = this.#answers;
    const body = this.#posted.kind === "batch" && this.#answers.length > 0 ? `[${this.#answers.join(",")}]` : text;
    this.#reply.send(status, this.#headersWith(headers), body);
  }

  #headersWith(type: HttpHeaders): HttpHeaders {
    return this.headers === noHeaders ? type : { ...type, ...this.headers };
  }
}

const noHeaders: HttpHeaders = Object.freeze({});

/** How many answers a POST is to be given. */
export function answersOf(message: Parsed): number {
  switch (message.kind) {
    case "request":
      return 1;
    case "malformed":
      return message.answerable ? 1 : 0;
    case "batch":
      return message.items.reduce((sum, item) => sum + answersOf(item), 0);
    default:
      return 0;
  }
}

/** The bound that a batch breaks, before anything is done about its messages. */
export function excess({ items }: Batch, ledger: Ledger): LimitReached | undefined {
  const max = ledger.max("connection", "openRequests");
  if (items.length <= max) return undefined;
  return { limit: "maxOpenRequests", max, scope: "connection", retryAfterMs: RETRY_AFTER_MS };
}

/** Why a batch is refused whole, if it is. */
export function batchProblem({ items }: Batch, accepted: boolean): string | undefined {
  if (!accepted) return "batches are not supported; send one message a request";
  const greets = items.some((item) => item.kind === "request" && item.method === "initialize");
  return greets ? "initialize must not be part of a batch" : undefined;
}

/** The messages of a POST, one or many. */
export function itemsOf(message: Parsed): readonly Batch["items"][number][] {
  return message.kind === "batch" ? message.items : [message];
}

/** The request with this id among what was posted. */
export function requestIn(message: Parsed, id: Id | null): Request | undefined {
  return itemsOf(message).find((item): item is Request => item.kind === "request" && item.id === id);
}

/** True when the client says that it is ready. Some of the first days left out the prefix. */
export function saysReady(message: Parsed): boolean {
  return itemsOf(message).some(
    (item) =>
      item.kind === "notification" && (item.method === "notifications/initialized" || item.method === "initialized"),
  );
}

/** What a request is answered with whose process is gone. */
export function goneError(safeToRetry: boolean): ErrorObject {
  const what = "the server process that ran this request is gone";
  return {
    code: rpcCodes.connectionClosed,
    message: safeToRetry
      ? `${what}; retry the request`
      : `${what}, and the request may have had effects; retry it only if doing it twice does no harm`,
    data: { reason: "connection-closed", safeToRetry },
  };
}

/** The response while the store is away: the session may well be there. */
export const unavailable: HttpAnswer = refusal(503, "sessions cannot be reached now", { "retry-after": "1" });

type Change = (session: KeptSession) => KeptSession;

/** True when an answer to what was posted has to wait until something is kept. */
export function changesSession(posted: Parsed): boolean {
  if (posted.kind === "batch") return posted.items.some(changesSession);
  return posted.kind === "request" && posted.method === "logging/setLevel";
}

/** The way back of a POST whose requests change the session: what they changed is kept before they are answered. */
export class PersistingSender implements Sender {
  readonly http: HttpRequestInfo;
  readonly #response: PostResponse;
  readonly #posted: Parsed;
  readonly #keep: (change: Change) => Awaitable<void>;

  constructor(response: PostResponse, posted: Parsed, keep: (change: Change) => Awaitable<void>) {
    this.http = response.http;
    this.#response = response;
    this.#posted = posted;
    this.#keep = keep;
  }

  send(message: Message): Promise<void> | undefined {
    const change = message.kind === "success" ? this.#changeOf(message.id) : undefined;
    return change === undefined ? this.#response.send(message) : this.#keepFirst(change, message);
  }

  hold(): void {
    this.#response.hold();
  }

  release(): void {
    this.#response.release();
  }

  drop(id: Id): void {
    this.#response.drop(id);
  }

  closeStream(retryMs?: number): void {
    this.#response.closeStream(retryMs);
  }

  async #keepFirst(change: Change, message: Message): Promise<void> {
    try {
      await this.#keep(change);
    } catch {
      return this.#response.refuse(unavailable);
    }
    await this.#response.send(message);
  }

  #changeOf(id: Id): Change | undefined {
    const request = requestIn(this.#posted, id);
    if (request?.method !== "logging/setLevel") return undefined;
    const { level } = request.params;
    return isLogLevel(level) ? (session) => ({ ...session, logLevel: level }) : undefined;
  }
}
