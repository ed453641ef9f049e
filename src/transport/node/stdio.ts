import type { Service } from "../../model/service.ts";
import { type ServeOptions, serveChannel } from "../serve-channel.ts";
import { openStdio, type StdioOptions } from "./stdio-server.ts";

export interface ServeStdioOptions extends Omit<ServeOptions, "clock">, StdioOptions {
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
 * protocol: what other code prints there goes to stderr.
 */
export async function serveStdio(service: Service, options: ServeStdioOptions = {}): Promise<void> {
  const channel = openStdio({ signals: true, ...options });
  await serveChannel(channel, service, options).ended;
  if (options.exit !== false) setTimeout(() => process.exit(), EXIT_GRACE_MS).unref();
}

const EXIT_GRACE_MS = 1_000;
