import { AsyncResource } from "node:async_hooks";
import type { IncomingMessage } from "node:http";
import type { Ledger, Shortage } from "../../protocol/budget.ts";
import { ByteBuffer } from "../../std/byte-buffer.ts";
import type { RequestHold } from "../http/request-hold.ts";
import { takeText } from "./body-text.ts";
import { inOwnTurn } from "./own-turn.ts";

/** What a request holds, or why it cannot be had. */
export type Body =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "too-large" }
  | { readonly kind: "no-room"; readonly short: Shortage }
  | { readonly kind: "not-utf8" | "too-many-pieces" };

/** More pieces than this may not be smaller than that on average: each costs as much as a request. */
const MANY_PIECES = 1_024;
export const LEAST_PIECE = 16;

/** Of a body that was refused, so much more is read. */
const MAX_REST = 65_536;
/** For a client to read why, before it is cut off. */
const LINGER_MS = 2_000;

/** Larger bodies take as long to read as many requests. */
const LARGE_BODY = 262_144;

/** A chunked body of more counts as the longest that is allowed: it does not say how long it will be. */
const LONG_CHUNKED = 131_072;

/** Smaller pieces of a body are copied together: each of them takes more than it holds. */
const SMALL_PIECE = 4_096;

export interface BodyRules {
  readonly maxMessageBytes: number;
  /** Counts bodies that come in several pieces by the lengths that were announced, or that chunked ones may have. */
  readonly announced: Ledger;
}

/**
 * Reads the body of a request and hands it over once. Not at all when the client
 * leaves before the end. What has arrived is held.
 *
 * Reads by callback: an iteration costs a third of a small request. Node calls
 * back in the async context of the socket, so `done` is brought back into the
 * context of the caller, where it finds its `AsyncLocalStorage`.
 */
export function readBody(
  request: IncomingMessage,
  rules: BodyRules,
  held: RequestHold,
  done: (body: Body) => void,
): void {
  const reader = new BodyReader(request, rules, held, done);
  request.on("data", (chunk: Buffer) => reader.take(chunk));
  request.on("end", () => reader.end());
}

class BodyReader {
  readonly #request: IncomingMessage;
  readonly #rules: BodyRules;
  readonly #held: RequestHold;
  readonly #done: (body: Body) => void;
  readonly #context = new AsyncResource("plugbay.readBody");
  #first: Buffer | undefined;
  #pieces: Buffer[] | undefined;
  #small: ByteBuffer | undefined;
  #size = 0;
  #count = 0;
  /** Gives back what was announced. */
  #arrived: (() => void) | undefined;
  #isOver = false;
  #isCut = false;

  constructor(request: IncomingMessage, rules: BodyRules, held: RequestHold, done: (body: Body) => void) {
    this.#request = request;
    this.#rules = rules;
    this.#held = held;
    this.#done = done;
  }

  take(chunk: Buffer): void {
    this.#size += chunk.length;
    const isTiny = ++this.#count > MANY_PIECES && this.#size < LEAST_PIECE * this.#count;
    if (this.#isOver) return void this.#drop(isTiny);
    if (this.#size > this.#rules.maxMessageBytes) return void this.#refuse({ kind: "too-large" });
    if (isTiny) return void this.#refuse({ kind: "too-many-pieces" });
    const short = (this.#arrived === undefined ? this.#announce() : undefined) ?? this.#held.take(chunk.length);
    if (short !== undefined) return void this.#refuse({ kind: "no-room", short });
    if (this.#first === undefined) this.#first = chunk;
    else this.#keep(chunk);
  }

  /**
   * Counts the whole body before it is kept. Many that begin together would otherwise all be refused in the middle, and
   * leave behind more than was ever taken.
   */
  #announce(): Shortage | undefined {
    const length = this.#lengthToCome();
    if (length === 0) return undefined;
    const account = this.#rules.announced.principal(this.#held.owner);
    const short = account.take("heldBytes", length);
    if (short !== undefined) return short;
    this.#arrived = () => account.give("heldBytes", length);
    // The end of the client is noticed here until there is a response.
    this.#request.once("close", () => this.#endArrival());
    return undefined;
  }

  /** Bytes of a body that comes in several pieces. 0 when it is there already, or when it is chunked and short so far. */
  #lengthToCome(): number {
    const stated = this.#request.headers["content-length"];
    if (stated !== undefined) return Number(stated) > this.#size ? Number(stated) : 0;
    if (this.#size <= LONG_CHUNKED) return 0;
    const { maxMessageBytes, announced } = this.#rules;
    const longest = Math.min(maxMessageBytes, announced.max("principal", "heldBytes"));
    return Number.isFinite(longest) ? longest : 0;
  }

  #endArrival(): void {
    this.#arrived?.();
    this.#arrived = undefined;
  }

  end(): void {
    if (this.#isOver) return;
    if (this.#size > LARGE_BODY) inOwnTurn(() => this.#read());
    else this.#read();
  }

  #read(): void {
    this.#endSmall();
    const text = takeText(this.#forget(), this.#size);
    if (text === undefined) return void this.#finish({ kind: "not-utf8" });
    const short = this.#takeText(text);
    this.#finish(short === undefined ? { kind: "text", text } : { kind: "no-room", short });
  }

  /** Counts what a text takes besides the bytes it came in: where it has more than ASCII, a character may take two. */
  #takeText(text: string): Shortage | undefined {
    const more = text.length === this.#size ? 0 : 2 * text.length - this.#size;
    return more > 0 ? this.#held.take(more) : undefined;
  }

  /** Answers before the whole body is there. */
  #refuse(body: Body): void {
    this.#isOver = true;
    this.#forget();
    this.#count = 0;
    this.#size = 0;
    this.#finish(body);
  }

  /** A body that ends soon leaves its connection of use. Of another no more is read, and its sender is cut off. */
  #drop(isTiny: boolean): void {
    if (this.#isCut || (!isTiny && this.#size <= MAX_REST)) return;
    this.#isCut = true;
    const { socket } = this.#request;
    // What was read already comes in pieces that would be kept if they were not taken.
    if (isTiny) return void setImmediate(() => socket.destroySoon());
    this.#request.pause();
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  }

  #finish(body: Body): void {
    this.#isOver = true;
    this.#endArrival();
    this.#context.runInAsyncScope(this.#done, undefined, body);
  }

  /** Hands over what has arrived. */
  #forget(): Buffer[] {
    const pieces = this.#pieces ?? (this.#first === undefined ? [] : [this.#first]);
    this.#first = undefined;
    this.#pieces = undefined;
    this.#small = undefined;
    return pieces;
  }

  #keep(chunk: Buffer): void {
    this.#pieces ??= [this.#first as Buffer];
    if (chunk.length >= SMALL_PIECE) {
      this.#endSmall();
      this.#pieces.push(chunk);
      return;
    }
    this.#small ??= new ByteBuffer(16 * SMALL_PIECE);
    this.#small.append(chunk);
    if (this.#small.size >= 15 * SMALL_PIECE) this.#endSmall();
  }

  #endSmall(): void {
    if (this.#small !== undefined) this.#pieces?.push(Buffer.from(this.#small.bytes()));
    this.#small = undefined;
  }
}

/** A client reads the rejection only after it has sent its body, which is limited in time. */
export function discardBody(request: IncomingMessage): void {
  let size = 0;
  request.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > MAX_WASTE) request.destroy();
  });
}

const MAX_WASTE = 67_108_864;
