import { ByteBuffer } from "./byte-buffer.ts";

/** One line of text without its line end, or why there is none. */
export type Line = string | LineFault;

export type LineFault =
  | {
      readonly kind: "too-long";
      /** How the line begins, as far as that tells what it was. */
      readonly head: string;
    }
  | { readonly kind: "invalid-utf8" };

export interface LineSplitter {
  /** The lines that end in this chunk, in order. The chunk may be reused afterwards. Never throws. */
  push(chunk: Uint8Array): readonly Line[];
}

export interface LineOptions {
  /** Bytes of one line, line feed excluded. 0 means as long as a string can be. */
  readonly maxBytes?: number;
}

export const defaultMaxLineBytes = 16_777_216;

/**
 * Splits a stream of UTF-8 bytes into lines, in time linear in the bytes.
 *
 * Lines end with `\n` or `\r\n`; blank ones are skipped, and so is a byte order
 * mark before the first. A line that is too long is reported once, as soon as
 * the limit is passed, and then dropped up to its end without being kept. Bytes
 * after the last line feed are no line: their sender did not finish it.
 */
export function createLineSplitter(options: LineOptions = {}): LineSplitter {
  const maxBytes = Math.min(options.maxBytes ?? defaultMaxLineBytes, longestString) || longestString;
  const open = new ByteBuffer(maxBytes);
  let dropping = false;
  let atStart = true;

  /** Adds the text of one line that ended. */
  const add = (text: string | undefined, lines: Line[]): void => {
    const line = text === undefined ? invalidUtf8 : trimmed(text, atStart);
    atStart = false;
    if (line !== "") lines.push(line);
  };

  /** Keeps the beginning of a line, unless it is too long already. */
  const keep = (part: Uint8Array, lines: Line[]): void => {
    if (dropping) return;
    if (open.size + part.length <= maxBytes) {
      open.append(part);
      return;
    }
    lines.push({ kind: "too-long", head: headOf(open.bytes(), part).slice(0, maxBytes) });
    open.clear();
    dropping = true;
    atStart = false;
  };

  /** Ends the line that was begun in an earlier chunk, or one that is too long. */
  const finish = (part: Uint8Array, lines: Line[]): void => {
    keep(part, lines);
    if (!dropping) add(decode(open.bytes()), lines);
    open.clear();
    dropping = false;
  };

  const finishEach = (block: Uint8Array, lines: Line[]): void => {
    for (let start = 0; start < block.length; ) {
      const end = block.indexOf(LF, start);
      finish(block.subarray(start, end), lines);
      start = end + 1;
    }
  };

  const addEach = (text: string, lines: Line[]): void => {
    for (let start = 0; start < text.length; ) {
      const end = text.indexOf("\n", start);
      add(text.slice(start, end), lines);
      start = end + 1;
    }
  };

  /** Reads lines that begin and end in `block`: all at once if nothing is wrong with any of them. */
  const readBlock = (block: Uint8Array, lines: Line[]): void => {
    const text = block.length <= maxBytes ? decode(block) : undefined;
    if (text === undefined) finishEach(block, lines);
    else addEach(text, lines);
  };

  return {
    push(chunk) {
      const lines: Line[] = [];
      const end = chunk.lastIndexOf(LF) + 1;
      let start = 0;
      if (end > 0 && (dropping || open.size > 0)) {
        start = chunk.indexOf(LF) + 1;
        finish(chunk.subarray(0, start - 1), lines);
      }
      if (start < end) readBlock(chunk.subarray(start, end), lines);
      if (end < chunk.length) keep(end === 0 ? chunk : chunk.subarray(end), lines);
      return lines;
    },
  };
}

const LF = 10;
const CR = 13;
const byteOrderMark = 0xfeff;
/** What V8 can hold in one string; the other engines can hold more. */
const longestString = 536_870_888;
const invalidUtf8: LineFault = { kind: "invalid-utf8" };

/** The decoder keeps byte order marks, else one in the middle of the stream would vanish when a chunk begins with it. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const MAX_HEAD = 256;

/** Byte by byte: what tells one message from another is ASCII. */
function headOf(...parts: readonly Uint8Array[]): string {
  const bytes = parts.flatMap((part) => [...part.subarray(0, MAX_HEAD)]);
  return String.fromCharCode(...bytes.slice(0, MAX_HEAD));
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

function trimmed(text: string, atStart: boolean): string {
  const start = atStart && text.charCodeAt(0) === byteOrderMark ? 1 : 0;
  const end = text.charCodeAt(text.length - 1) === CR ? text.length - 1 : text.length;
  return end - start === text.length ? text : text.slice(start, end);
}
