import type { Readable, Writable } from "node:stream";
import type { Channel } from "../../jsonrpc/channel.ts";
import { type Clock, systemClock } from "../../std/clock.ts";
import { exitOnSignals } from "./exit-signals.ts";
import { type LineChannelOptions, lineChannel } from "./line-channel.ts";
import { ownStream } from "./owned-stream.ts";
import { watchParent } from "./parent-watch.ts";

export interface StdioOptions extends LineChannelOptions {
  readonly stdin?: Readable;
  readonly stdout?: Writable;
  /** Gets what other code prints to stdout. */
  readonly stderr?: Writable;
  /**
   * Whether SIGTERM and SIGINT end the process: the first once the channel is
   * closed, the second at once. False unless given: the process may not be ours.
   */
  readonly signals?: boolean;
  /** How long after the first signal to wait for `close`. 3 seconds unless given. */
  readonly drainMs?: number;
  readonly clock?: Clock;
}

/**
 * Speaks with whoever started this process, over stdin and stdout.
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
  const unwatch = options.stdin === undefined ? watchParent(clock, lines.endInput) : undefined;
  const signals = options.signals
    ? exitOnSignals({ clock, drainMs: options.drainMs ?? defaultDrainMs, onSignal: lines.endInput })
    : undefined;
  let closing: Promise<void> | undefined;

  owned.writable.on("error", lines.endInput);
  process.on("exit", lines.endOutput);

  const close = async (): Promise<void> => {
    await lines.close();
    process.off("exit", lines.endOutput);
    unwatch?.();
    owned.release();
    signals?.release();
  };

  return {
    incoming: lines.incoming,
    send: lines.send,
    close() {
      closing ??= close();
      return closing;
    },
  };
}

const defaultDrainMs = 3000;
