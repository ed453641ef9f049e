import { createServer, type Server } from "node:http";
import { type AddressInfo, isIPv6 } from "node:net";
import { McpError } from "../../model/errors.ts";
import type { Service } from "../../model/service.ts";
import { systemClock } from "../../std/clock.ts";
import { describeService } from "../describe-service.ts";
import { isLoopback } from "../http/allowed-hosts.ts";
import { createEndpoint } from "../http/endpoint.ts";
import type { HttpOptions } from "../http/options.ts";
import { endOfTurn } from "./end-of-turn.ts";
import { exitOnSignals } from "./exit-signals.ts";
import { listen as listenTo } from "./node-handler.ts";
import { watchConnections } from "./server-connections.ts";

export interface ServeHttpOptions extends HttpOptions {
  /** Default 3000; 0 takes one that is free. */
  readonly port?: number;
  /** The address to listen on. Default 127.0.0.1: this machine only. Any other needs `allowedHosts`. */
  readonly host?: string;
  /**
   * Whether SIGTERM and SIGINT end the process, once open calls are answered and
   * running tasks are left to others; a second one at once. Default false: the
   * process may not be ours.
   */
  readonly signals?: boolean;
}

/** A service that is being served. */
export interface HttpServing extends AsyncDisposable {
  /** Where clients reach it, such as `http://127.0.0.1:3000/mcp`. */
  readonly url: string;
  readonly port: number;
  /** Takes nothing new, answers what is open for a while, then ends the rest. Idempotent, never rejects. */
  close(): Promise<void>;
}

/**
 * Serves a service over Streamable HTTP, in every revision at once.
 *
 * Resolves when it listens. Rejects with `invalid-definition` when the service or
 * an option is bad, and with `connection-closed` when it cannot listen.
 *
 * @example
 * await using serving = await serveHttp(shop, { port: 3000 });
 * console.log(serving.url);
 */
export async function serveHttp(service: Service, options: ServeHttpOptions = {}): Promise<HttpServing> {
  const { port = 3000, host = "127.0.0.1", path = "/mcp", clock = systemClock, drainMs = 5_000 } = options;
  if (!isLoopback(host) && options.allowedHosts === undefined) {
    throw new McpError(
      "invalid-definition",
      `listening on ${host} needs allowedHosts: the names clients use, or "any" behind something that checks them`,
    );
  }
  const endpoint = createEndpoint(service, { ...options, path });
  await describeService(service);
  const server = createServer(limits, (request, response) => listenTo(endpoint, request, response));
  server.maxHeadersCount = 100;
  const connections = watchConnections(server);
  const bound = await bind(server, port, host);
  const signals = options.signals
    ? exitOnSignals({ clock, drainMs: drainMs + GRACE_MS, onSignal: () => void close() })
    : undefined;
  let closing: Promise<void> | undefined;

  /** It listens until all is answered, so that whoever comes is told to come again, and not left alone. */
  const shut = async (): Promise<void> => {
    await endpoint.close();
    await endOfTurn();
    const stop = clock.after(GRACE_MS, () => server.closeAllConnections());
    await connections.close();
    stop();
    // The process is about to end: what it runs besides calls is left to others.
    if (options.signals) await (service as Partial<Closable>).close?.();
    signals?.release();
  };

  const close = (): Promise<void> => {
    closing ??= shut();
    return closing;
  };

  return {
    url: `http://${isIPv6(host) ? `[${host}]` : host}:${bound}${path}`,
    port: bound,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** A service with work of its own, such as a server with tasks. */
interface Closable {
  close(): Promise<void>;
}

/** For the last answers to be written. */
const GRACE_MS = 1_000;

/** Bounds on what a client may take: bytes of a head, and time for each part. */
const limits = {
  maxHeaderSize: 16_384,
  headersTimeout: 15_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 30_000,
  connectionsCheckingInterval: 5_000,
};

function bind(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const refuse = (cause: NodeJS.ErrnoException): void =>
      reject(new McpError("connection-closed", `cannot listen on ${host}:${port}: ${reasonOf(cause)}`, { cause }));
    server.once("error", refuse);
    server.listen(port, host, () => {
      server.off("error", refuse);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  if (code === "EADDRINUSE") return "something else listens there";
  return code === "EACCES" ? "this needs more rights" : message;
}
