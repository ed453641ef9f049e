import { createServer, type Server } from "node:http";
import { type AddressInfo, isIPv6, Server as NetServer, type Socket } from "node:net";
import { McpError } from "../../protocol/errors.ts";
import { checkOptionNames, checkService, type OptionNames } from "../../protocol/option-names.ts";
import type { Service } from "../../protocol/service.ts";
import { systemClock } from "../../std/clock.ts";
import { describeService } from "../describe-service.ts";
import { isLoopback } from "../http/allowed-hosts.ts";
import { createEndpoint } from "../http/endpoint.ts";
import { type HttpOptions, httpOptionNames } from "../http/options.ts";
import type { ServeHandle } from "../serve-channel.ts";
import { exitOnSignals } from "./exit-signals.ts";
import { listen as listenTo } from "./node-handler.ts";
import { endOfTurn } from "./write-batch.ts";

/// <reference lib="esnext.disposable" preserve="true" />

export interface ServeHttpOptions extends HttpOptions {
  /** Default 3000; 0 takes one that is free. */
  readonly port?: number | undefined;
  /** The address to listen on. Default 127.0.0.1: this machine only. Any other needs `allowedHosts`. */
  readonly host?: string | undefined;
  /**
   * Whether SIGTERM and SIGINT end the process, once open calls are answered and
   * running tasks are left to others; a second one at once. Default false: the
   * process may not be ours.
   */
  readonly signals?: boolean | undefined;
}

const serveHttpOptionNames: OptionNames<ServeHttpOptions> = {
  ...httpOptionNames,
  port: true,
  host: true,
  signals: true,
};

/** A service that is being served. */
export interface HttpServeHandle extends ServeHandle {
  /** Where clients reach it, such as `http://127.0.0.1:3000/mcp`. */
  readonly url: string;
  readonly port: number;
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
export async function serveHttp(service: Service, options: ServeHttpOptions = {}): Promise<HttpServeHandle> {
  checkService("serveHttp", service);
  checkOptionNames("serveHttp", options, serveHttpOptionNames, { hostname: "host" });
  const { port = 3000, host = "127.0.0.1", path = "/mcp", clock = systemClock, drainMs = 5_000 } = options;
  if (!isLoopback(host) && options.allowedHosts === undefined) {
    throw new McpError(
      "invalid-definition",
      `listening on ${host} needs allowedHosts: the names clients use, or "any" behind something that checks them`,
    );
  }
  if (!(Number.isInteger(port) && port >= 0 && port <= MAX_PORT)) {
    throw new McpError(
      "invalid-definition",
      `port must be a number from 0 to ${MAX_PORT}, not ${port}; 0 takes a free one`,
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
  let over = (): void => {};
  const closed = new Promise<void>((resolve) => {
    over = resolve;
  });

  /** It listens until all is answered, so that new requests get 503 with `Retry-After`. */
  const shut = async (): Promise<void> => {
    await endpoint.close();
    await endOfTurn();
    const stop = clock.after(GRACE_MS, () => server.closeAllConnections());
    await connections.close();
    stop();
    // The process is about to end: what it runs besides calls is left to others.
    if (options.signals) await (service as Partial<Closable>).close?.();
    signals?.release();
    over();
  };

  const close = (): Promise<void> => {
    closing ??= shut();
    return closing;
  };

  return {
    url: `http://${isIPv6(host) ? `[${host}]` : host}:${bound}${path}`,
    port: bound,
    closed,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** A service with work of its own, such as a server with tasks. */
interface Closable {
  close(): Promise<void>;
}

const MAX_PORT = 65_535;

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
  if (code === "EADDRINUSE") return "something else listens there; end it, or choose another port";
  return code === "EACCES" ? "this needs more rights" : message;
}

/** The connections of a server. */
interface ServerConnections {
  /**
   * Stops listening when what was answered is written, and resolves when no
   * connection is left. What arrives in that moment is still read, and answered by
   * the server. Then those that are idle are closed; a request that is just
   * arriving has to be answered, or its connection closed by somebody else.
   */
  close(): Promise<void>;
}

/**
 * Watches a server, so that it can be closed without cutting off an answer. Node
 * by itself takes connections for idle before their answer is written, those that
 * were never used for busy, and closes idle ones whose next request is on its way.
 */
function watchConnections(server: Server): ServerConnections {
  const sockets = new Set<Socket>();
  let noneLeft = (): void => {};

  function forget(this: Socket): void {
    sockets.delete(this);
    if (sockets.size === 0) noneLeft();
  }
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", forget);
  });

  /** Resolves after a moment in which requests that were sent are read, or when no connection is left. */
  const linger = (): Promise<void> =>
    new Promise((resolve) => {
      if (sockets.size === 0) return resolve();
      // What has arrived by then is read before the next turn begins.
      const timer = setTimeout(() => setImmediate(resolve), LINGER_MS);
      noneLeft = () => {
        clearTimeout(timer);
        resolve();
      };
    });

  return {
    async close() {
      await Promise.all([...sockets].map(written));
      // Unlike that of an HTTP server, this leaves the connections alone.
      const closed = new Promise<unknown>((resolve) => NetServer.prototype.close.call(server, resolve));
      await linger();
      server.closeIdleConnections();
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
      await closed;
    },
  };
}

/** Long enough for a request that was on its way when the server began to close; longer than a network of one site takes. */
const LINGER_MS = 50;

/** Resolves when all that was given to a socket is on its way, or the socket is gone. */
function written(socket: Socket): Promise<void> | undefined {
  if (socket.writableLength === 0 || socket.destroyed) return undefined;
  return new Promise((resolve) => {
    const look = (): void => {
      if (socket.writableLength > 0 && !socket.destroyed) return;
      socket.off("drain", look);
      socket.off("close", look);
      resolve();
    };
    socket.on("drain", look);
    socket.on("close", look);
  });
}
