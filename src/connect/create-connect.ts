import { createAnswerDesk } from "../client/answers.ts";
import { type Client, type ClientOptions, createClient } from "../client/client.ts";
import { toWarn } from "../client/warning.ts";
import type { JsonLimits } from "../json/parse.ts";
import type { Authorizer } from "../model/authorizer.ts";
import type { Connection, Opening } from "../model/connection.ts";
import { McpError } from "../model/errors.ts";
import type { Implementation } from "../model/peer.ts";
import type { Era, Revision } from "../model/revision.ts";
import type { Service } from "../model/service.ts";
import type { Shaped, ShapesOf, ToolShapes } from "../model/shape.ts";
import { systemClock } from "../std/clock.ts";
import type { Command } from "../transport/command.ts";
import type { HttpClientOptions } from "../transport/http/client/open-http.ts";
import type { HttpSend } from "../transport/http/http-send.ts";
import { openChannel } from "../transport/open-channel.ts";
import { openInProcess } from "./in-process.ts";
import { namePlace } from "./name-place.ts";
import { createPatience } from "./patience.ts";
import { type Place, readTarget, type Target, type UrlPlace } from "./target.ts";

export interface ConnectOptions extends ClientOptions {
  /** What the client says of itself. Default: this package. */
  readonly info?: Implementation;
  /** The revision to speak. Default: the newest both sides know. */
  readonly revision?: Revision;
  /** What the server spoke last time, if that is known: it is tried first. */
  readonly era?: Era;
  /** How long one step of connecting may take. Default 30 s. */
  readonly connectTimeoutMs?: number;
  /** How long a server on stdio may ignore the modern opening before the older one is tried. Default 3 s. */
  readonly probeMs?: number;
  /** Bytes of one line of a server on stdio. Default 16 MiB; 0 is off. */
  readonly maxLineBytes?: number;
  /** Bytes of one JSON body, or of one event of a stream, of a server at a URL. Default 16 MiB; 0 is off. */
  readonly maxBodyBytes?: number;
  /** Bounds on the JSON of a server. Default: 64 levels, 65,536 elements. */
  readonly jsonLimits?: JsonLimits;
  /**
   * Sent with every request to a server at a URL, beside what the protocol
   * wants: an object, or a function that is asked before each request, such as
   * for a token that has to be renewed. Headers of the protocol cannot be
   * replaced. Never sent to another origin.
   */
  readonly headers?: HttpClientOptions["headers"];
  /**
   * Shows a server at a URL who the client is, such as `oauth()` of
   * `plugbay/auth/client`. An `authorization` among the headers wins. Time that
   * users take to sign in does not count for `connectTimeoutMs`.
   */
  readonly auth?: Authorizer;
  /** Sends the requests to a server at a URL. Default: what the platform does best. */
  readonly fetch?: typeof fetch;
  /** Ends the attempt to connect. */
  readonly signal?: AbortSignal;
}

/**
 * Connects to a server and returns a client for it.
 *
 * The era is found out, and nothing of it shows. Give the type of a server to
 * have its tools typed: `connect<typeof shop>("node shop.js")`; a server given
 * as a value brings its types along.
 */
export interface Connect {
  <T extends ToolShapes>(server: Service & Shaped<T>, options?: ConnectOptions): Promise<Client<T>>;
  <S = unknown>(target: Target, options?: ConnectOptions): Promise<Client<ShapesOf<S>>>;
}

/** What a platform has to offer for connecting. */
export interface Platform {
  /** Starts a program and connects to it. */
  openCommand(command: Command, opening: Opening, options: ConnectOptions): Promise<Connection>;
  /** How requests to this URL are sent, when the user has no way of their own. */
  sendTo(url: URL): Promise<HttpSend>;
}

/** An open line to a server: the client, and the connection under it. */
export interface Line {
  readonly client: Client;
  readonly connection: Connection;
}

/** Connects like {@link Connect}, for who has to reach below the client. */
export type Dial = (target: Target, options?: ConnectOptions) => Promise<Line>;

/** Makes `connect` for a platform. */
export function createConnect(platform: Platform): Connect {
  const dial = createDial(platform);
  const connect = async (target: Target, options?: ConnectOptions): Promise<Client> =>
    (await dial(target, options)).client;
  return connect as Connect;
}

/** Makes what `connect` stands on. */
export function createDial(platform: Platform): Dial {
  return async (target, options = {}) => {
    const place = readTarget(target);
    return dialBy((opening) => open(platform, place, options, opening), options, namePlace(place));
  };
}

/** Connects over whatever `open` opens, and returns a client for it. */
export async function connectBy(
  open: (opening: Opening) => Promise<Connection>,
  options: ConnectOptions = {},
): Promise<Client> {
  return (await dialBy(open, options)).client;
}

async function dialBy(
  open: (opening: Opening) => Promise<Connection>,
  options: ConnectOptions,
  place?: string,
): Promise<Line> {
  const { info = ownInfo, connectTimeoutMs = 30_000, clock = systemClock, revision, era, signal } = options;
  if (signal?.aborted) throw new McpError("cancelled", "connecting was cancelled", { cause: signal.reason });
  const desk = createAnswerDesk(options);
  const connection = await open({
    info,
    capabilities: desk.capabilities,
    answer: desk.answer,
    notified: desk.notified,
    timeoutMs: connectTimeoutMs,
    clock,
    ...(revision !== undefined && { revision }),
    ...(era !== undefined && { era }),
    ...(signal !== undefined && { signal }),
  });
  askForLogs(connection, options);
  return { client: createClient(connection, desk, options, place), connection };
}

/** Legacy servers choose what to send until they are told. One that will not be told sends what it likes. */
function askForLogs({ server, setLogLevel }: Connection, options: ConnectOptions): void {
  const { onLog, logLevel = "info" } = options;
  const warn = toWarn(options.onWarning);
  if (onLog === undefined || server.capabilities.logging === undefined) return;
  setLogLevel?.(logLevel).catch((cause: unknown) => {
    if (cause instanceof McpError && cause.code === "connection-closed") return;
    warn({ kind: "not-honoured", message: `the server refuses log level ${logLevel}`, cause });
  });
}

const ownInfo: Implementation = { name: "plugbay", version: "0.1.0" };

async function open(platform: Platform, place: Place, options: ConnectOptions, opening: Opening): Promise<Connection> {
  switch (place.kind) {
    case "service":
      return openInProcess(place.service, opening);
    case "command":
      return platform.openCommand(place.command, opening, options);
    case "channel":
      return openChannel(place.channel, opening, options.probeMs === undefined ? {} : { probeMs: options.probeMs });
    case "url":
      return openUrl(platform, place, options, opening);
  }
}

async function openUrl(
  platform: Platform,
  { url, transport, headers: fixed }: UrlPlace,
  options: ConnectOptions,
  opening: Opening,
): Promise<Connection> {
  // Only who goes over the network needs what is needed for it.
  const [{ openHttp }, send] = await Promise.all([
    import("../transport/http/client/open-http.ts"),
    options.fetch === undefined ? platform.sendTo(url) : sendBy(options.fetch),
  ]);
  const { maxBodyBytes, jsonLimits } = options;
  const headers = both(fixed, options.headers);
  const patience = options.auth === undefined ? undefined : createPatience(opening.clock, options.auth);
  return openHttp(url, patience === undefined ? opening : { ...opening, clock: patience.clock }, {
    send,
    headers,
    auth: patience?.auth,
    maxBodyBytes,
    jsonLimits,
    transport,
    warn: toWarn(options.onWarning),
  });
}

async function sendBy(given: typeof fetch): Promise<HttpSend> {
  const { fetchSend } = await import("../transport/http/client/fetch-send.ts");
  return fetchSend(given);
}

/** The headers of a config entry and those of the options, which win. */
function both(
  fixed: Readonly<Record<string, string>> | undefined,
  given: ConnectOptions["headers"],
): ConnectOptions["headers"] {
  if (fixed === undefined || given === undefined) return given ?? fixed;
  if (typeof given === "function") return async () => join(fixed, await given());
  return join(fixed, given);
}

/** Names of headers are the same in any case. */
function join(...parts: readonly Readonly<Record<string, string>>[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    parts.flatMap(Object.entries<string>).map(([name, value]) => [name.toLowerCase(), value] as const),
  );
}
