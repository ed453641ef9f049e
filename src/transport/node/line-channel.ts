// biome-ignore lint/suspicious/noTsIgnore: here the types are there, for users they need not be
/** @ts-ignore Without `@types/node` these are `any`. */
import { finished, type Readable, type Writable } from "node:stream";
import type { Channel } from "../../jsonrpc/channel.ts";
import {
  encodeMessage,
  type Id,
  type Incoming,
  type Message,
  parseText,
  unreadableText,
} from "../../jsonrpc/message.ts";
import { McpError } from "../../protocol/errors.ts";
import { type MessageLimits, stdioLimits } from "../../protocol/limits.ts";
import { asyncQueue } from "../../std/async-queue.ts";
import { createLineSplitter, type Line, type LineFault } from "../../std/lines.ts";

export interface LineChannelOptions {
  /** A line that is too long is malformed, and the next is read. */
  readonly limits?: MessageLimits | undefined;
}

/** Reads one line. */
export type ParseLine = (line: string, limits: MessageLimits) => Incoming;

/** A {@link Channel} over two streams, whose directions can be ended one by one. */
export interface LineChannel extends Channel {
  /** Ends `incoming` after what has arrived. Whatever else the peer writes is read and dropped. */
  endInput(): void;
  /** Ends the writing side after what was sent is written, or when that fails. Never rejects. */
  endOutput(): Promise<void>;
}

/**
 * Speaks JSON-RPC over two streams, one message to a line.
 *
 * A reader that falls behind pauses the readable. Messages that are sent in one
 * tick share a write, up to {@link flushMessages} of them. A write that fails is not an error: the peer is
 * gone, messages to it are dropped, and the end of `incoming` tells.
 */
export function lineChannel(
  readable: Readable,
  writable: Writable,
  options: LineChannelOptions = {},
  parse: ParseLine = parseText,
): LineChannel {
  const input = openInput(readable, options, parse);
  const output = openOutput(writable);

  return {
    incoming: input.incoming,
    send: output.send,
    unsent: output.unsent,
    endInput: input.end,
    endOutput: output.end,
    async close() {
      input.end();
      await output.end();
      readable.destroy();
    },
  };
}

interface Input {
  readonly incoming: AsyncIterable<readonly Incoming[]>;
  end(): void;
}

function openInput(readable: Readable, options: LineChannelOptions, parse: ParseLine): Input {
  const { limits = stdioLimits } = options;
  const splitter = createLineSplitter({ maxBytes: limits.maxMessageBytes });
  const batches = asyncQueue<readonly Incoming[]>();
  const batch = batches[Symbol.asyncIterator]();
  let ended = false;
  /** Lines whose turn has not come. Nothing is read meanwhile. */
  let rest: readonly Line[] = [];

  const push = (lines: readonly Line[]): void =>
    batches.push(
      lines.map((line) => (typeof line === "string" ? parse(line, limits) : refused(line, limits.maxMessageBytes))),
    );

  const handOver = (lines: readonly Line[]): void => {
    rest = lines.slice(linesOfTurn);
    push(lines.slice(0, linesOfTurn));
    if (rest.length > 0) setImmediate(pushTurn);
    if (rest.length > 0 || batches.size >= maxBatches) readable.pause();
  };

  const pushTurn = (): void => {
    if (rest.length > 0) handOver(rest);
    if (rest.length === 0 && batches.size < maxBatches) readable.resume();
  };

  const pushRest = (): void => {
    if (rest.length > 0) push(rest);
    rest = [];
  };

  const end = (): void => {
    pushRest();
    ended = true;
    batches.end();
    readable.resume();
  };

  readable.on("data", (chunk: Uint8Array | string) => {
    if (ended) return;
    const lines = splitter.push(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
    if (lines.length === 0) return;
    // Node resumes the output of a program that has ended, whoever has paused it.
    if (rest.length > 0) rest = [...rest, ...lines];
    else handOver(lines);
  });
  readable.on("end", end);
  readable.on("close", end);
  readable.on("error", (error: NodeJS.ErrnoException) => {
    pushRest();
    if (!isHangUp(error))
      batches.fail(new McpError("connection-closed", `cannot read: ${error.message}`, { cause: error }));
    end();
  });

  const next = (): ReturnType<typeof batch.next> => {
    if (rest.length === 0 && readable.isPaused()) readable.resume();
    return batch.next();
  };
  return { incoming: { [Symbol.asyncIterator]: () => ({ next }) }, end };
}

/** So many messages are handed over in one turn: what they ask for is answered, and may hold up others, before more are. */
const linesOfTurn = 16;

/** How many chunks may wait for the reader before the peer has to. */
const maxBatches = 2;

function refused(fault: LineFault, maxBytes: number): Incoming {
  return fault.kind === "too-long"
    ? unreadableText(`line longer than ${maxBytes} bytes (maxMessageBytes)`, fault.head)
    : unreadableText("not valid UTF-8");
}

/** True for the ways a system says that the other end was closed. */
function isHangUp(error: NodeJS.ErrnoException): boolean {
  return error.code === "EPIPE" || error.code === "ECONNRESET" || error.code === "EOF" || error.code === "EIO";
}

interface Output {
  send(message: Message): Promise<void> | undefined;
  unsent(): Iterable<Id>;
  end(): Promise<void>;
}

function openOutput(writable: Writable): Output {
  const room = createGate();
  let outbox = "";
  let waiting = 0;
  let scheduled = false;
  /** The requests in the outbox, and those that never left it. */
  const requests: Id[] = [];

  const flush = (): void => {
    const text = outbox;
    outbox = "";
    waiting = 0;
    if (text !== "" && writable.writable) writable.write(text);
    // A write that fails at once has written nothing. One that fails later may have written a part.
    if (writable.writable) requests.length = 0;
  };

  const flushRest = (): void => {
    scheduled = false;
    flush();
  };

  for (const event of ["drain", "finish", "close", "error"]) writable.on(event, room.open);

  return {
    unsent: () => requests,
    send(message) {
      if (message.kind === "request") requests.push(message.id);
      if (!writable.writable) return undefined;
      outbox += `${encodeMessage(message)}\n`;
      if (++waiting >= flushMessages || outbox.length >= flushChars) {
        flush();
      } else if (!scheduled) {
        scheduled = true;
        // Runs when the microtasks of this turn are done, so that few answers become one write.
        process.nextTick(flushRest);
      }
      return writable.writableNeedDrain ? room.wait() : undefined;
    },
    end() {
      flush();
      return new Promise((resolve) => {
        finished(writable, { readable: false }, () => resolve());
        writable.end();
      });
    },
  };
}

/** Text of this length is handed to the stream at once, which then knows whether the peer is slow. */
const flushChars = 65_536;

/** So many messages are written while others are still made: the peer works at the same time, instead of after us. */
const flushMessages = 16;

interface Gate {
  /** Resolves when the gate is next opened. */
  wait(): Promise<void>;
  open(): void;
}

/** Resolves one promise for all waiting writers. */
function createGate(): Gate {
  let waiting: Promise<void> | undefined;
  let release: (() => void) | undefined;

  return {
    wait() {
      waiting ??= new Promise((resolve) => {
        release = resolve;
      });
      return waiting;
    },
    open() {
      waiting = undefined;
      release?.();
    },
  };
}
