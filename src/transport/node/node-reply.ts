import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { EventSink, HttpHeaders, HttpReply } from "../http/http-message.ts";
import { type Ending, endings } from "./write-batch.ts";

/** A server that may be about to close. */
interface Closing {
  readonly isClosing: boolean;
}

/** Writes an answer straight to Node's response. */
export class NodeReply implements HttpReply, Ending {
  readonly #response: ServerResponse;
  readonly #always: HttpHeaders;
  readonly #server: Closing;
  #listeners: (() => void) | (() => void)[] | undefined;
  #body = "";

  /** `always` goes with every answer. The last answer of a server that closes says so, and its connection ends with it. */
  constructor(response: ServerResponse, always: HttpHeaders, server: Closing) {
    this.#response = response;
    this.#always = always;
    this.#server = server;
  }

  send(status: number, headers: HttpHeaders, body: string): void {
    const response = this.#response;
    if (response.headersSent || response.destroyed) return;
    const fields = fieldsOf(headers, this.#always);
    if (this.#server.isClosing) response.shouldKeepAlive = false;
    if (status !== 204) fields.push("content-length", String(Buffer.byteLength(body)));
    response.writeHead(status, fields);
    if (body === "") return void response.end();
    this.#body = body;
    endings.add(this);
  }

  finish(isAlone: boolean): void {
    const response = this.#response;
    if (!isAlone) return void response.end(this.#body);
    // Ended after it is on its way: Node would otherwise send an empty piece with it, which costs a tenth of a small request.
    response.write(this.#body);
    process.nextTick(end, response);
  }

  open(headers: HttpHeaders): EventSink {
    const response = this.#response;
    if (this.#server.isClosing) response.shouldKeepAlive = false;
    if (!response.headersSent) openStream(response, fieldsOf(headers, this.#always));
    return new NodeSink(response);
  }

  onGone(listener: () => void): void {
    const response = this.#response;
    if (response.destroyed && !response.writableFinished) return void listener();
    if (this.#listeners === undefined) response.on("close", () => this.#closed());
    this.#listeners = this.#listeners === undefined ? listener : [this.#listeners, listener].flat();
  }

  #closed(): void {
    if (this.#response.writableFinished) return;
    for (const listener of [this.#listeners ?? []].flat()) listener();
  }
}

function end(response: ServerResponse): void {
  response.end();
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
  #room: Promise<void> | undefined;

  constructor(response: ServerResponse) {
    this.#response = response;
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
    if (this.#response.writableEnded) return;
    this.#response.end(text);
  }

  destroy(): void {
    this.#response.destroy();
  }

  get backlog(): number {
    return this.#response.writableLength;
  }
}
