// biome-ignore lint/suspicious/noTsIgnore: here the types are there, for users they need not be
/** @ts-ignore Without `@types/node` these are `any`. */
import { type Readable, Writable } from "node:stream";
import type { Channel, Sender } from "../../jsonrpc/channel.ts";
import type { OptionNames } from "../../protocol/option-names.ts";
import type { KnownPlatform } from "../../protocol/platform.ts";
import type { ServerEvent } from "../../protocol/server-event.ts";
import type { Service } from "../../protocol/service.ts";
import { type Clock, systemClock } from "../../std/clock.ts";
import { readBounds } from "../read-bounds.ts";
import { type ServeChannelOptions, type ServeHandle, serveChannel, serveChannelOptionNames } from "../serve-channel.ts";
import { exitOnSignals, watchParent } from "./exit-signals.ts";
import { type LineChannelOptions, lineChannel } from "./line-channel.ts";

export interface ServeStdioOptions extends ServeChannelOptions, Omit<StdioOptions, "drainMs" | "limits"> {
  /**
   * How long open calls may continue after EOF or a signal before they end with an error, in milliseconds. Default
   * 5000.
   */
  readonly drainMs?: number | undefined;
  /**
   * Whether the process ends with the connection. Default true: what else
   * keeps it alive has one second to finish.
   */
  readonly exit?: boolean | undefined;
  /** Returns what handlers get as `ctx.platform`. Called once for a call whose handler reads it. */
  readonly platform?: (() => KnownPlatform) | undefined;
  /**
   * Hears of requests that are refused because one of the `budgets` is used up, before a call is made of them. For an
   * audit, with what `onEvent` of the server tells of calls. Default: that of the server.
   */
  readonly onEvent?: ((event: ServerEvent) => void) | undefined;
}

const serveStdioOptionNames: OptionNames<ServeStdioOptions> = {
  ...serveChannelOptionNames,
  exit: true,
  platform: true,
  onEvent: true,
  signals: true,
  stdin: true,
  stdout: true,
  stderr: true,
  progressGapMs: true,
};

/**
 * Serves a service to the process that started this one, over stdin and stdout.
 *
 * Resolves when it serves. `closed` of the handle resolves when the client has
 * disconnected, the parent process has ended, or a signal came, after the answers
 * of open calls are written. Until then the process stays, and stdout belongs to the protocol:
 * what other code prints there goes to stderr. Rejects with `invalid-definition`
 * when the server turns out to be defined badly.
 */
export async function serveStdio(service: Service, options: ServeStdioOptions = {}): Promise<ServeHandle> {
  const server: Service & Pick<ServeStdioOptions, "onEvent"> = service;
  const { platform, onEvent = server.onEvent } = options;
  const plain = { service, bounds: await readBounds("serveStdio", options, serveStdioOptionNames) };
  // What makes use of the hooks is loaded where there is one.
  const isHooked = platform !== undefined || onEvent !== undefined;
  const served = isHooked ? (await import("../stdio-hooks.ts")).withHooks(plain, { platform, onEvent }) : plain;
  const { bounds } = served;
  const { drainMs = 5_000, exit = true, signals = true } = options;
  const channel = openStdio({ ...options, limits: bounds.limits, signals, drainMs: drainMs + GRACE_MS });
  // A handler that waits for nothing the system knows of must not let the process end without an answer.
  const letGo = systemClock.hold?.();
  const { ready, ended, drain } = serveChannel(channel, served.service, { ...options, bounds, drainMs });
  let isServed = false;
  const closed = ended.then(() => {
    letGo?.();
    if (exit && isServed) setTimeout(() => process.exit(), GRACE_MS).unref();
  });
  try {
    await ready;
    isServed = true;
  } catch (error) {
    await closed;
    throw error;
  }
  const close = async (): Promise<void> => {
    await drain();
    await closed;
  };
  return { closed, close, [Symbol.asyncDispose]: close };
}

/** For the last answers to be written, and for what else the process has to finish. */
const GRACE_MS = 1_000;

export interface StdioOptions extends LineChannelOptions {
  readonly stdin?: Readable | undefined;
  readonly stdout?: Writable | undefined;
  /** Gets what other code prints to stdout. */
  readonly stderr?: Writable | undefined;
  /**
   * Whether SIGTERM and SIGINT end the process: the first once the channel is
   * closed, the second at once. False unless given: the process may not be ours.
   */
  readonly signals?: boolean | undefined;
  /** How long after the first signal to wait for `close`. 3 seconds unless given. */
  readonly drainMs?: number | undefined;
  /**
   * How long after the last progress of a call its response is written, in milliseconds: clients of the official SDK
   * drop progress that they read together with the response. 10 unless given; 0 is off.
   */
  readonly progressGapMs?: number | undefined;
  readonly clock?: Clock | undefined;
}

/**
 * The channel to the process that started this one, over stdin and stdout.
 *
 * `incoming` ends when stdin does, when the parent dies, when stdout breaks and,
 * if `signals` is on, at the first signal; answers can still be sent then. Until
 * `close`, stdout belongs to the channel and what others print there goes to
 * stderr. Node writes to pipes in the background: what is sent before a
 * `process.exit` is only certain to arrive if `close` was awaited.
 */
export function openStdio(options: StdioOptions = {}): Channel {
  const { stdin = process.stdin, stdout = process.stdout, stderr = process.stderr, clock = systemClock } = options;
  const owned = ownStream(stdout, stderr);
  const lines = lineChannel(stdin, owned.writable, options);
  const output = createProgressGap(lines.send, clock, options.progressGapMs ?? 10);
  const unwatch = options.stdin === undefined ? watchParent(clock, lines.endInput) : undefined;
  const signals = options.signals
    ? exitOnSignals({ clock, drainMs: options.drainMs ?? defaultDrainMs, onSignal: lines.endInput })
    : undefined;
  let closing: Promise<void> | undefined;

  owned.writable.on("error", lines.endInput);
  const endOutput = (): void => {
    output.flush();
    void lines.endOutput();
  };
  process.on("exit", endOutput);

  const close = async (): Promise<void> => {
    output.flush();
    await lines.close();
    process.off("exit", endOutput);
    unwatch?.();
    owned.release();
    signals?.release();
  };

  return {
    incoming: lines.incoming,
    send: output.send,
    sendAfterProgress: output.sendAfterProgress,
    nextTurn: () => new Promise((resolve) => setImmediate(resolve)),
    close() {
      closing ??= close();
      return closing;
    },
  };
}

const defaultDrainMs = 3000;

/** A stream that only its owner can write to. */
export interface OwnedStream {
  /** The owner's way in. Ending it leaves the stream itself open. */
  readonly writable: Writable;
  /** Makes the stream what it was. */
  release(): void;
}

type Done = (error?: Error | null) => void;

/**
 * Takes a stream over: whatever anybody else writes to it goes to `diversion`.
 *
 * Catches `console.log` and every other `write` in this process. What bypasses
 * the stream, such as `fs.writeSync(1, …)` or a child that inherits the file
 * descriptor, cannot be caught.
 */
export function ownStream(stream: Writable, diversion: Writable): OwnedStream {
  const write = stream.write;
  const divert = (chunk: unknown, encoding?: BufferEncoding | Done, done?: Done): boolean => {
    if (typeof encoding === "string") diversion.write(chunk, encoding, done);
    else diversion.write(chunk, encoding);
    // Whoever is told to wait would wait for a `drain` of the wrong stream.
    return true;
  };
  const writable = new Writable({
    decodeStrings: false,
    write: (chunk, encoding, done) => write.call(stream, chunk, encoding, done),
  });
  const onError = (error: Error): void => {
    writable.destroy(error);
  };

  stream.write = divert;
  stream.on("error", onError);
  return {
    writable,
    release() {
      if (stream.write === divert) stream.write = write;
      stream.off("error", onError);
    },
  };
}

/** Writes messages, and the responses of calls that have reported progress a little after that. */
export interface ProgressGap extends Sender {
  sendAfterProgress(write: () => void): void;
  /** Writes at once what waits. */
  flush(): void;
}

/** `gapMs` of 0 is off. */
export function createProgressGap(send: Sender["send"], clock: Clock, gapMs: number): ProgressGap {
  const waiting = new Set<() => void>();
  let lastNotified = 0;

  return {
    send(message) {
      if (message.kind === "notification") lastNotified = clock.now();
      return send(message);
    },
    sendAfterProgress(write) {
      const restMs = lastNotified + gapMs - clock.now();
      if (restMs <= 0) return write();
      const finish = (): void => {
        stop();
        waiting.delete(finish);
        write();
      };
      const stop = clock.after(restMs, finish);
      waiting.add(finish);
    },
    flush() {
      for (const finish of waiting) finish();
    },
  };
}
