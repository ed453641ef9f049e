import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { toLimitError } from "../../protocol/limit-error.ts";
import type { HttpCaller } from "../http/fair-gate.ts";
import {
  type EventSink,
  type GoneListener,
  type HttpHeaders,
  type HttpReply,
  sendAnswer,
} from "../http/http-message.ts";
import { limitAnswer } from "../http/limit-answer.ts";
import { LARGE_BODY, RequestHold } from "../http/request-hold.ts";
import { UnreadBody, type UnreadRules } from "./unread-body.ts";
import { type Ending, endings } from "./write-batch.ts";

/** What answers of an endpoint have in common. */
interface ReplyRules extends UnreadRules {
  /** True when the server is about to close. */
  readonly isClosing: boolean;
}

/** Writes an answer straight to Node's response. */
export class NodeReply implements HttpReply, Ending {
  readonly caller: HttpCaller;
  readonly held: RequestHold;
  readonly #response: ServerResponse;
  readonly #always: HttpHeaders;
  readonly #rules: ReplyRules;
  #listeners: GoneListener | GoneListener[] | undefined;
  #body = "";

  /** `always` goes with every answer. The last answer of a server that closes says so, and its connection ends with it. */
  constructor(response: ServerResponse, always: HttpHeaders, rules: ReplyRules, caller: HttpCaller) {
    this.caller = caller;
    this.held = new RequestHold(caller.share);
    this.#response = response;
    this.#always = always;
    this.#rules = rules;
    (response as Replied)[replyKey] = this;
    response.on("close", closed);
  }

  send(status: number, headers: HttpHeaders, body: string): void {
    const response = this.#response;
    if (response.headersSent || response.destroyed) return;
    const isLarge = body.length > LARGE_BODY;
    const short = isLarge ? this.held.takeLarge(body.length) : undefined;
    if (short !== undefined) return void sendAnswer(this, limitAnswer(short));
    const fields = fieldsOf(headers, this.#always);
    if (this.#rules.isClosing) response.shouldKeepAlive = false;
    if (status !== 204) fields.push("content-length", String(Buffer.byteLength(body)));
    response.writeHead(status, fields);
    if (body === "") return void response.end();
    if (isLarge) return void new UnreadBody(response, this.#rules, body);
    this.#body = body;
    endings.add(this);
  }

  finish(isAlone: boolean): void {
    const response = this.#response;
    if (!isAlone) {
      response.end(this.#body);
      this.#watch();
      return;
    }
    // Ended after it is on its way: Node would otherwise send an empty piece with it, which costs a tenth of a small request.
    response.write(this.#body);
    process.nextTick(end, this);
  }

  /** Ends the response after what was written. */
  end(): void {
    this.#response.end();
    this.#watch();
  }

  /** Ends a stream with its last event. */
  endStream(text = ""): void {
    const isLarge = text.length > LARGE_BODY;
    const short = isLarge ? this.held.takeLarge(text.length) : undefined;
    if (short !== undefined) {
      this.#response.destroy();
      return void this.#rules.dropped(`a client was not sent a result: ${toLimitError(short).message}`);
    }
    if (isLarge) return void new UnreadBody(this.#response, this.#rules, text);
    this.#response.end(text);
    this.#watch();
  }

  open(headers: HttpHeaders): EventSink {
    const response = this.#response;
    if (this.#rules.isClosing) response.shouldKeepAlive = false;
    if (!response.headersSent) openStream(response, fieldsOf(headers, this.#always));
    return new NodeSink(response, this);
  }

  /** Takes no more requests from the client once this is answered. */
  endConnection(): void {
    this.#response.shouldKeepAlive = false;
  }

  onGone(listener: GoneListener): void {
    const response = this.#response;
    if (response.destroyed && !response.writableFinished) return void listener.gone();
    this.#listeners = this.#listeners === undefined ? listener : [this.#listeners, listener].flat();
  }

  /** Nearly always the system has taken it all by now. A client that does not read it is cut off in time. */
  #watch(): void {
    const { socket } = this.#response;
    if (socket === null || socket.writableLength === 0) return;
    this.held.add(socket.writableLength);
    new UnreadBody(this.#response, this.#rules);
  }

  /** The response is over, or its connection is. */
  closed(): void {
    this.held.release();
    if (this.#response.writableFinished) return;
    for (const listener of [this.#listeners ?? []].flat()) listener.gone();
  }
}

/** Leads from a response to its reply, so that all responses share one listener. */
const replyKey: unique symbol = Symbol("plugbay.reply");

interface Replied extends ServerResponse {
  [replyKey]?: NodeReply;
}

function closed(this: ServerResponse): void {
  (this as Replied)[replyKey]?.closed();
}

function end(reply: NodeReply): void {
  reply.end();
}

/** Names and values in turn: Node writes them as they are, and makes no table of them first. */
function fieldsOf(headers: HttpHeaders, always: HttpHeaders): string[] {
  const fields: string[] = [];
  for (const name in headers) fields.push(name, headers[name] as string);
  for (const name in always) fields.push(name, always[name] as string);
  return fields;
}

/**
 * The head goes out with the first event, or on its own if there is none yet. It
 * is handed over as a piece of its own all the same: what Node keeps of it would
 * otherwise stay the many strings it was put together from.
 */
function openStream(response: ServerResponse, fields: string[]): void {
  const { socket } = response;
  response.writeHead(200, fields);
  socket?.cork();
  response.flushHeaders();
  if (socket) process.nextTick(uncork, socket);
}

function uncork(socket: Socket): void {
  socket.uncork();
}

class NodeSink implements EventSink {
  readonly #response: ServerResponse;
  readonly #reply: NodeReply;
  #room: Promise<void> | undefined;

  constructor(response: ServerResponse, reply: NodeReply) {
    this.#response = response;
    this.#reply = reply;
  }

  write(text: string): Promise<void> | undefined {
    const response = this.#response;
    if (response.writableEnded || response.destroyed) return undefined;
    if (response.write(text)) return undefined;
    this.#room ??= new Promise((resolve) => {
      const release = (): void => {
        response.off("drain", release);
        response.off("close", release);
        this.#room = undefined;
        resolve();
      };
      response.on("drain", release);
      response.on("close", release);
    });
    return this.#room;
  }

  end(text?: string): void {
    if (!this.#response.writableEnded) this.#reply.endStream(text);
  }

  destroy(): void {
    this.#response.destroy();
  }

  get backlog(): number {
    return this.#response.writableLength;
  }
}
