import { ByteBuffer } from "./byte-buffer.ts";

/** One event to write. */
export interface SseFrame {
  readonly data: string;
  readonly id?: string;
  readonly event?: string;
  /** Whole milliseconds for a reader to wait before it connects again. */
  readonly retry?: number;
}

/**
 * One event as text. Every line break in `data` reads as `\n`.
 *
 * Throws {@link TypeError} for a line break or NUL in `id` or `event`: what
 * follows it would be another field, and a reader ignores ids with a NUL.
 */
export function sseEvent({ data, id, event, retry }: SseFrame): string {
  let head = id === undefined ? "" : `id: ${oneLine(id)}\n`;
  if (event !== undefined) head += `event: ${oneLine(event)}\n`;
  if (retry !== undefined) head += `retry: ${retry}\n`;
  return `${head}data: ${withPrefix(data, "data: ")}\n\n`;
}

/** A comment, which readers skip: it only shows that the stream is alive. */
export function sseComment(text: string): string {
  return `: ${withPrefix(text, ": ")}\n\n`;
}

function oneLine(text: string): string {
  if (hasBreakOrNul.test(text)) throw new TypeError("a field of an event must not contain a line break or NUL");
  return text;
}

const hasBreakOrNul = /[\0\r\n]/;

/** Looks before it replaces: JSON texts have no line breaks, and looking is almost free. */
function withPrefix(text: string, prefix: string): string {
  if (!text.includes("\n") && !text.includes("\r")) return text;
  return text.replaceAll(/\r\n|\r|\n/g, `\n${prefix}`);
}

/** What a stream of events says. */
export type SseItem =
  | {
      readonly kind: "event";
      /** `message` unless the event says otherwise. */
      readonly event: string;
      /** Never empty. */
      readonly data: string;
      /** There when the event states one. Without one, the last id stays what it was. */
      readonly id?: string;
    }
  /** The last id changes, and there is no message. */
  | { readonly kind: "id"; readonly id: string }
  /** How long to wait before connecting again. */
  | { readonly kind: "retry"; readonly ms: number }
  /** An event was left out, with its id. */
  | { readonly kind: "too-large" };

export interface SseParser {
  /** What ends in this chunk, in order. The chunk may be reused afterwards. Never throws. */
  push(chunk: Uint8Array): readonly SseItem[];
  /** The stream is over. An event that did not end is no event; a `retry` in it counts. */
  end(): readonly SseItem[];
}

export interface SseOptions {
  /** Bytes from one blank line to the next, with each line end counted as one. 0 means as many as a string can hold. */
  readonly maxEventBytes?: number;
}

export const defaultMaxEventBytes = 16_777_216;

/**
 * Reads a stream of Server-Sent Events, in time linear in the bytes.
 *
 * It follows the WHATWG rules with one difference: an event whose data is empty
 * is no message, as if it had no data. An event that is too large is reported
 * once, as soon as the limit is passed, and then dropped up to its end without
 * being kept. Bytes that are no UTF-8 read as U+FFFD.
 */
export function createSseParser(options: SseOptions = {}): SseParser {
  const maxBytes = Math.min(options.maxEventBytes ?? defaultMaxEventBytes, longestString) || longestString;
  const open = new ByteBuffer(maxBytes);
  const toLineFeeds = createLineEndings();
  /** The byte before the chunk. A blank line is a line feed behind a line feed, or at the start. */
  let before = LF;
  let dropping = false;
  let atStart = true;

  const read = (bytes: Uint8Array, items: SseItem[]): void => {
    const text = decoder.decode(bytes);
    readEvents(text, atStart && text.charCodeAt(0) === byteOrderMark ? 1 : 0, items);
    atStart = false;
  };

  /** Keeps a part of an event, unless it is too large already. */
  const keep = (part: Uint8Array, items: SseItem[]): void => {
    if (dropping || part.length === 0) return;
    if (open.size + part.length <= maxBytes) {
      open.append(part);
      return;
    }
    items.push(tooLarge);
    open.clear();
    dropping = true;
    atStart = false;
  };

  const finish = (part: Uint8Array, items: SseItem[]): void => {
    keep(part, items);
    if (!dropping) read(open.bytes(), items);
    open.clear();
    dropping = false;
  };

  const finishEach = (block: Uint8Array, items: SseItem[]): void => {
    for (let start = 0; start < block.length; ) {
      const end = endOfFirst(block, start, before);
      finish(block.subarray(start, end), items);
      start = end;
    }
  };

  /** Reads a block that ends with an event: all at once if none in it can be too large. */
  const readBlock = (block: Uint8Array, items: SseItem[]): void => {
    if (dropping || open.size + block.length > maxBytes) finishEach(block, items);
    else if (open.size > 0) finish(block, items);
    else read(block, items);
  };

  return {
    push(chunk) {
      const items: SseItem[] = [];
      const bytes = toLineFeeds(chunk);
      const end = endOfLast(bytes, before);
      if (end > 0) readBlock(bytes.subarray(0, end), items);
      if (end < bytes.length) keep(end === 0 ? bytes : bytes.subarray(end), items);
      before = bytes[bytes.length - 1] ?? before;
      return items;
    },
    end() {
      const items: SseItem[] = [];
      const bytes = open.bytes();
      read(bytes.subarray(0, bytes.lastIndexOf(LF) + 1), items);
      open.clear();
      return items;
    },
  };
}

const LF = 10;
const CR = 13;
const SPACE = 32;
const byteOrderMark = 0xfeff;
/** What V8 can hold in one string; the other engines can hold more. */
const longestString = 536_870_888;
const tooLarge: SseItem = { kind: "too-large" };

/** Only ever given whole lines, so that no character is split; the mark at the start is skipped by hand. */
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Where the first event that ends behind `start` does, its blank line included. 0 when none does. */
function endOfFirst(bytes: Uint8Array, start: number, before: number): number {
  let at = bytes.indexOf(LF, start);
  while (at >= 0 && byteBefore(bytes, at, before) !== LF) at = bytes.indexOf(LF, at + 1);
  return at + 1;
}

/** Where the last event that ends in `bytes` does. 0 when none does. */
function endOfLast(bytes: Uint8Array, before: number): number {
  let at = bytes.lastIndexOf(LF);
  while (at > 0 && bytes[at - 1] !== LF) at = bytes.lastIndexOf(LF, at - 1);
  return at === 0 && before !== LF ? 0 : at + 1;
}

function byteBefore(bytes: Uint8Array, at: number, before: number): number | undefined {
  return at === 0 ? before : bytes[at - 1];
}

/** Makes `\r` and `\r\n` a line feed, also where a chunk ends between the two. */
function createLineEndings(): (chunk: Uint8Array) => Uint8Array {
  let afterCr = false;
  return (chunk) => {
    if (chunk.length === 0) return chunk;
    const bytes = afterCr && chunk[0] === LF ? chunk.subarray(1) : chunk;
    afterCr = chunk[chunk.length - 1] === CR;
    const first = bytes.indexOf(CR);
    return first < 0 ? bytes : withoutCr(bytes, first);
  };
}

/** A copy of `bytes`, whose first carriage return is at `first`. */
function withoutCr(bytes: Uint8Array, first: number): Uint8Array {
  const result = new Uint8Array(bytes);
  let size = first;
  for (let at = first; at >= 0; ) {
    result[size++] = LF;
    const start = bytes[at + 1] === LF ? at + 2 : at + 1;
    at = bytes.indexOf(CR, start);
    const end = at < 0 ? bytes.length : at;
    result.copyWithin(size, start, end);
    size += end - start;
  }
  return result.subarray(0, size);
}

/** What has been read of an event. */
interface Draft {
  readonly data: string[];
  event: string;
  id: string | undefined;
}

/** Reads lines that all end with a line feed. */
function readEvents(text: string, from: number, items: SseItem[]): void {
  let draft: Draft = { data: [], event: "", id: undefined };
  for (let start = from; start < text.length; ) {
    const end = text.indexOf("\n", start);
    if (end > start) {
      readField(text.slice(start, end), draft, items);
    } else {
      addEvent(draft, items);
      draft = { data: [], event: "", id: undefined };
    }
    start = end + 1;
  }
}

function addEvent({ data: lines, event: name, id }: Draft, items: SseItem[]): void {
  const data = lines.length > 1 ? lines.join("\n") : lines[0];
  const event = name === "" ? "message" : name;
  if (!data) {
    if (id !== undefined) items.push({ kind: "id", id });
  } else {
    items.push(id === undefined ? { kind: "event", event, data } : { kind: "event", event, data, id });
  }
}

/** Reads one line. A comment is a field without a name. */
function readField(line: string, draft: Draft, items: SseItem[]): void {
  const colon = line.indexOf(":");
  const name = colon < 0 ? line : line.slice(0, colon);
  const value = colon < 0 ? "" : line.slice(line.charCodeAt(colon + 1) === SPACE ? colon + 2 : colon + 1);
  if (name === "data") draft.data.push(value);
  else if (name === "event") draft.event = value;
  else if (name === "id" && !value.includes("\0")) draft.id = value;
  else if (name === "retry" && /^[0-9]+$/.test(value)) items.push({ kind: "retry", ms: toMs(value) });
}

function toMs(digits: string): number {
  return Math.min(Number(digits), Number.MAX_SAFE_INTEGER);
}
