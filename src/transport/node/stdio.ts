import { McpError } from "../../model/errors.ts";
import type { Service } from "../../model/service.ts";
import { type ServeOptions, serveChannel } from "../serve-channel.ts";
import { openStdio, type StdioOptions } from "./stdio-server.ts";

export interface ServeStdioOptions extends Omit<ServeOptions, "clock" | "drainMs">, Omit<StdioOptions, "drainMs"> {
  /** How long open calls may go on after EOF or a signal before they end with an error. Default 5 s. */
  readonly drainMs?: number;
  /**
   * Whether the process ends with the connection. Default true: what else
   * keeps it alive has one second to finish.
   */
  readonly exit?: boolean;
}

/**
 * Serves a service to whoever started this process, over stdin and stdout.
 *
 * Resolves when the client has hung up, the parent is gone, or a signal came,
 * after the answers under way are written. Until then stdout belongs to the
 * protocol: what other code prints there goes to stderr. Rejects with
 * `invalid-definition` when the server turns out to be defined badly.
 */
export async function serveStdio(service: Service, options: ServeStdioOptions = {}): Promise<void> {
  const { drainMs = 5_000, exit = true } = options;
  const channel = openStdio({ signals: true, ...options, drainMs: drainMs + GRACE_MS });
  // A handler that waits for nothing the system knows of must not let the process end without an answer.
  const alive = setInterval(() => {}, FOREVER_MS);
  const reason = await serveChannel(channel, service, { ...options, drainMs }).ended;
  clearInterval(alive);
  if (reason instanceof McpError && reason.code === "invalid-definition") throw reason;
  if (exit) setTimeout(() => process.exit(), GRACE_MS).unref();
}

/** For the last answers to be written, and for what else the process has to finish. */
const GRACE_MS = 1_000;
const FOREVER_MS = 2 ** 31 - 1;
