import { createServer, Server as HttpServer, type RequestListener } from "node:http";
import type { Server as HttpsServer } from "node:https";
import { type AddressInfo, isIPv6, Server as NetServer, type Socket } from "node:net";
import type { Account } from "../../protocol/budget.ts";
import { McpError } from "../../protocol/errors.ts";
import { checkOptionNames, checkService, type OptionNames } from "../../protocol/option-names.ts";
import type { Service } from "../../protocol/service.ts";
import { systemClock } from "../../std/clock.ts";
import { describeService } from "../describe-service.ts";
import { isLoopback, loopbackHosts } from "../http/allowed-hosts.ts";
import type { HttpEndpoint } from "../http/endpoint.ts";
import type { EndpointStatus } from "../http/endpoint-status.ts";
import type { HealthOptions } from "../http/health.ts";
import { addressOwner } from "../http/http-callers.ts";
import { warn as warnOf } from "../http/limit-warning.ts";
import { formerHttpOptions, httpOptionNames, movedOptions } from "../http/options.ts";
import type { Routes } from "../http/routes.ts";
import type { ServeHandle } from "../serve-channel.ts";
import { exitOnSignals } from "./exit-signals.ts";
import { PATIENCE_MS, watchArrivals } from "./late-requests.ts";
import { createNodeEndpoint, listen as listenTo, type NodeHandlerOptions } from "./node-handler.ts";
import type { SidePathOptions, SidePaths } from "./side-paths.ts";
import { endOfTurn } from "./write-batch.ts";

/// <reference lib="esnext.disposable" preserve="true" />

/** The certificate of a server and its key, in PEM. */
export interface TlsOptions {
  readonly key: string | Uint8Array;
  /** Of the server, and then of those who vouch for it, as far as clients do not know them. */
  readonly cert: string | Uint8Array;
  /** Certificates of authorities between that of the server and one that clients know, where `cert` lacks them. */
  readonly ca?: string | Uint8Array | undefined;
}

export interface ServeHttpOptions extends NodeHandlerOptions {
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
  /** Serves https with this certificate. Default: plain HTTP, for a proxy in front that speaks TLS. */
  readonly tls?: TlsOptions | undefined;
  /**
   * Whether `/healthz` says that the process is up, and `/readyz` that calls can be served: that the store of the server
   * answers, and each check of yours. Both say 503 while the server is closing. Anybody may ask, by any host name. Default false.
   */
  readonly health?: boolean | HealthOptions | undefined;
  /**
   * What else is served: a handler for each path. A path that ends with `/*` takes what is below it, and `"/*"` all that
   * nothing else takes. Neither `auth` nor `budgets` apply there; `allowedHosts` does.
   */
  readonly routes?: Routes | undefined;
  /** Runs once when the server has closed and no connection is left: the place to close a database. */
  readonly onClose?: (() => void | Promise<void>) | undefined;
}

const serveHttpOptionNames: OptionNames<ServeHttpOptions> = {
  ...httpOptionNames,
  platform: true,
  tls: true,
  health: true,
  routes: true,
  onClose: true,
  port: true,
  host: true,
  signals: true,
};

/** A service that is being served. */
export interface HttpServeHandle extends ServeHandle {
  /** Where clients reach it, such as `http://127.0.0.1:3000/mcp`. */
  readonly url: string;
  readonly port: number;
  /** What is held for clients, by kind, and what this process may hold. */
  status(): EndpointStatus;
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
  checkOptionNames("serveHttp", options, serveHttpOptionNames, {
    ...formerHttpOptions,
    ...movedOptions,
    hostname: "host",
  });
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
      `port must be a number from 0 to ${MAX_PORT}, not ${JSON.stringify(port)}; 0 takes a free one`,
    );
  }
  const isSecure = options.tls !== undefined;
  const endpoint = createNodeEndpoint(service, { ...options, path, isSecure }, "serveHttp");
  await describeService(service);
  const beside = await openSidePaths(service, endpoint, options);
  const listener: RequestListener = (request, response) => {
    if (beside?.take(request, response) !== true) listenTo(endpoint, request, response);
  };
  const server =
    options.tls === undefined ? createServer(limits, listener) : await createTlsServer(options.tls, listener);
  server.maxHeadersCount = 100;
  const connections = watchConnections(server, endpoint);
  const bound = await bind(server, port, host);
  const signals = options.signals
    ? exitOnSignals({ clock, drainMs: drainMs + PATIENCE_MS + GRACE_MS, onSignal: () => void close() })
    : undefined;
  let closing: Promise<void> | undefined;
  let over = (): void => {};
  const closed = new Promise<void>((resolve) => {
    over = resolve;
  });

  /** It listens until all is answered, so that new requests get 503 with `Retry-After`. */
  const shut = async (): Promise<void> => {
    const arrivals = watchArrivals(server, clock);
    await Promise.all([endpoint.close(), beside?.drain()]);
    await endOfTurn();
    await arrivals.quiet();
    const stop = clock.after(GRACE_MS, connections.cut);
    await connections.close();
    stop();
    // The process is about to end: what it runs besides calls is left to others.
    if (options.signals) await (service as Partial<Closable>).close?.();
    await runOnClose(options);
    signals?.release();
    over();
  };

  const close = (): Promise<void> => {
    closing ??= shut();
    return closing;
  };

  return {
    url: `${isSecure ? "https" : "http"}://${isIPv6(host) ? `[${host}]` : host}:${bound}${path}`,
    port: bound,
    status: endpoint.status,
    closed,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** What is served beside the endpoint. Loaded where an option asks for it. */
async function openSidePaths(
  service: Service,
  endpoint: HttpEndpoint,
  options: ServeHttpOptions,
): Promise<SidePaths | undefined> {
  const { health, routes, allowedHosts: hosts = loopbackHosts, clock = systemClock, drainMs = 5_000 } = options;
  if (!health && routes === undefined) return undefined;
  const { createSidePaths } = await import("./side-paths.ts");
  const { store: given, onWarning } = options;
  const { store: own } = service as Partial<Pick<SidePathOptions, "store">>;
  const store = given === undefined ? own : async () => given;
  const warn = (message: string): void => {
    if (onWarning === undefined) console.error(`plugbay: ${message}`);
    else warnOf(onWarning, { kind: "check-failed", message });
  };
  const isSecure = options.tls !== undefined;
  return createSidePaths({ health, routes, endpoint, hosts, isSecure, store, clock, drainMs, warn });
}

async function createTlsServer({ key, cert, ca }: TlsOptions, listener: RequestListener): Promise<HttpsServer> {
  const { createServer } = await import("node:https");
  try {
    const pem = { key: toPem("key", key), cert: toPem("cert", cert), ...(ca !== undefined && { ca: toPem("ca", ca) }) };
    return createServer({ ...limits, ...pem }, listener);
  } catch (cause) {
    if (cause instanceof McpError) throw cause;
    const { code } = cause as NodeJS.ErrnoException;
    throw new McpError(
      "invalid-definition",
      `tls of serveHttp cannot be used (${code}): key and cert must be PEM, and fit`,
      {
        cause,
        data: { member: "tls" },
      },
    );
  }
}

/** Options that come from the environment or from a file may be missing. */
function toPem(name: keyof TlsOptions, value: unknown): string | Buffer {
  if (typeof value === "string") return value;
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  throw new McpError("invalid-definition", `tls.${name} of serveHttp must be PEM: a text, or the bytes of a file`, {
    data: { member: `tls.${name}` },
  });
}

async function runOnClose({ onClose }: ServeHttpOptions): Promise<void> {
  try {
    await onClose?.();
  } catch (error) {
    console.error("plugbay: onClose threw:", error);
  }
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

function bind(server: HttpServer | HttpsServer, port: number, host: string): Promise<number> {
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
   * arriving has to be answered, or its connection cut.
   */
  close(): Promise<void>;
  /** Cuts those that are left. */
  cut(): void;
}

/**
 * Watches a server, so that it can be closed without cutting off an answer. Node
 * by itself takes connections for idle before their answer is written, those that
 * were never used for busy, and closes idle ones whose next request is on its way.
 *
 * Counts them for the process and, where no proxy is in between, for the address they come from. One too many is told so.
 */
function watchConnections(server: HttpServer | HttpsServer, { ledger, trustProxy }: HttpEndpoint): ServerConnections {
  /** With whose share each is taken of. */
  const sockets = new Map<Socket, Account | undefined>();
  let noneLeft = (): void => {};

  function forget(this: Socket): void {
    sockets.get(this)?.give("connections");
    sockets.delete(this);
    if (sockets.size === 0) noneLeft();
  }
  server.on("connection", (socket: Socket) => {
    const share = trustProxy ? ledger.process : ledger.principal(addressOwner(socket.remoteAddress));
    const isTooMany = share.take("connections") !== undefined;
    sockets.set(socket, isTooMany ? undefined : share);
    socket.on("close", forget);
    if (!isTooMany) return;
    if (!(server instanceof HttpServer)) return void socket.destroy();
    socket.end("HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
    socket.destroySoon();
  });
  // With TLS, what is written and read is that of the socket around the one below.
  server.on("secureConnection", (socket: Socket) => {
    sockets.set(socket, undefined);
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
      await Promise.all([...sockets.keys()].map(written));
      // Unlike that of an HTTP server, this leaves the connections alone.
      const closed = new Promise<unknown>((resolve) => NetServer.prototype.close.call(server, resolve));
      await linger();
      server.closeIdleConnections();
      for (const socket of sockets.keys()) if (socket.bytesRead === 0) socket.destroy();
      await closed;
    },
    cut() {
      for (const socket of sockets.keys()) socket.destroy();
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
