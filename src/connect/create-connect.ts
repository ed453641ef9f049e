import { type Client, createClient } from "../client/client.ts";
import type { FormQueue } from "../client/form-queue.ts";
import { type ClientRequestHandlers, createRequestHandlers } from "../client/request-handlers.ts";
import { toWarn } from "../client/warning.ts";
import type { Connection, Opening } from "../protocol/connection.ts";
import { McpError } from "../protocol/errors.ts";
import type { Question, QuestionAnswer } from "../protocol/input.ts";
import { clientLimits } from "../protocol/limits.ts";
import { checkOptionNames } from "../protocol/option-names.ts";
import { ownInfo } from "../protocol/own-info.ts";
import { eraOf } from "../protocol/revision.ts";
import type { Service } from "../protocol/service.ts";
import { type ObservedPlace, telemetryOf } from "../protocol/telemetry.ts";
import { toLimits } from "../protocol/to-limits.ts";
import type { ToolsOf, Typed } from "../protocol/tool.ts";
import { systemClock } from "../std/clock.ts";
import { defined } from "../std/defined.ts";
import { holding } from "../std/hold.ts";
import type { Command } from "../transport/command.ts";
import type { AddressGuard } from "../transport/http/client/address-guard.ts";
import type { HttpSend } from "../transport/http/http-message.ts";
import { openChannel } from "../transport/open-channel.ts";
import { connectInTime, createSignInPausedClock } from "./connect-in-time.ts";
import { type ConnectOptions, connectOptionNames, formerConnectOptions } from "./connect-options.ts";
import { openInProcess } from "./in-process.ts";
import { createOpeningLog } from "./opening-log.ts";
import {
  describePlace,
  type ModuleEntry,
  type OpenApiEntry,
  type ParsedTarget,
  type ParsedUrl,
  readTarget,
  type Target,
} from "./target.ts";

/**
 * Connects to a server and returns a client for it.
 *
 * The era is detected, and the client is the same for all eras. Give the type of a server to have its tools typed:
 * `connect<typeof shop>("node shop.js")`; a server given as a value brings its types along.
 */
export type Connect = <S extends Typed = Typed>(
  target: Target | (Service & S),
  options?: ConnectOptions,
) => Promise<Client<ToolsOf<S>>>;

/** What a platform has to offer for connecting. */
export interface Platform {
  /** Starts a program and connects to it. */
  openCommand(command: Command, opening: Opening, options: ConnectOptions): Promise<Connection>;
  /** Makes a server in this process of a document or module. */
  openEntry(entry: OpenApiEntry | ModuleEntry, options: ConnectOptions): Promise<Service>;
  /** How requests to this URL are sent, when the user has no way of their own. The guard judges addresses, where those show. */
  sendTo(url: URL, guard?: AddressGuard): Promise<HttpSend>;
}

/** A connected client, and the connection that it uses. */
export interface ClientConnection {
  readonly client: Client;
  readonly connection: Connection;
  /** Questions of tasks, for servers that list them in the state of the task. */
  readonly taskQuestions?: TaskQuestions;
}

/** Questions of a server of 2025-11-25 about its tasks, for a caller of 2026-07-28. */
export interface TaskQuestions {
  /** The unanswered questions of a task. Undefined where there are none. */
  of(taskId: string): Readonly<Record<string, Question>> | undefined;
  /** Sends answers by their keys. Answers to unknown questions are ignored. */
  answer(taskId: string, answers: Readonly<Record<string, QuestionAnswer>>): void;
}

export interface DialOptions extends ConnectOptions {
  /** Where forms of the server wait, when it is asked over several connections. Default: one for the connection. */
  readonly forms?: FormQueue;
  /** Answers questions of the server, instead of the handlers of the options. */
  readonly handlers?: ClientRequestHandlers | undefined;
  /** Is given the end of an attempt that took too long: it resolves when nothing of the attempt is left. */
  onAbandoned?(over: Promise<void>): void;
  /** True where no caller awaits the connection: then the attempt does not keep the process alive. */
  readonly inBackground?: boolean;
}

/** Connects like {@link Connect}, for callers that also need the connection below the client. */
export type Dial = (target: Target, options?: DialOptions) => Promise<ClientConnection>;

/** Makes `connect` for a platform. */
export function createConnect(platform: Platform): Connect {
  const dial = createDial(platform);
  const connect = async (target: Target, options: ConnectOptions = {}): Promise<Client> => {
    checkOptionNames("connect", options, connectOptionNames, formerConnectOptions);
    return (await dial(target, options)).client;
  };
  return connect as Connect;
}

/** Makes what `connect` stands on. */
export function createDial(platform: Platform): Dial {
  return async (target, options = {}) => {
    const place = readTarget(target);
    return dialBy((opening, watched) => open(platform, place, { ...options, ...watched }, opening), options, place);
  };
}

/** Connects over whatever `open` opens, and returns a client for it. */
export async function connectBy(
  open: (opening: Opening) => Promise<Connection>,
  options: ConnectOptions = {},
): Promise<Client> {
  return (await dialBy((opening) => open(opening), options)).client;
}

async function dialBy(
  open: (opening: Opening, watched: Pick<ConnectOptions, "auth">) => Promise<Connection>,
  options: DialOptions,
  place?: ParsedTarget,
): Promise<ClientConnection> {
  const { connectTimeoutMs: timeoutMs = 30_000, clock = systemClock, signal: given } = options;
  const { revision, revisionHint, onAbandoned } = options;
  if (given?.aborted) throw new McpError("cancelled", "connecting was cancelled", { cause: given.reason });
  const handlers = options.handlers ?? createRequestHandlers(options, clock, options.forms);
  const signInClock = options.auth && createSignInPausedClock(clock, options.auth);
  const pausedClock = signInClock?.clock ?? clock;
  const log = createOpeningLog({ clock: pausedClock, what: describePlace(place), timeoutMs });
  const start = (signal: AbortSignal | undefined): Promise<Connection> => {
    const opening: Opening = {
      info: options.info ? defined(options.info) : ownInfo,
      capabilities: handlers.capabilities,
      answer: handlers.answer,
      request: handlers.request,
      notified: handlers.onOtherNotification,
      warn: toWarn(options.onWarning),
      trying: log.trying,
      timeoutMs,
      clock: pausedClock,
      ...(revision !== undefined && { revision }),
      ...(revisionHint !== undefined && { era: eraOf(revisionHint) }),
      ...(signal !== undefined && { signal }),
    };
    return open(opening, signInClock === undefined ? {} : { auth: signInClock.auth });
  };
  const { tooLate } = log;
  const limit = { clock: pausedClock, timeoutMs, tooLate, signal: given, ...(onAbandoned && { onAbandoned }) };
  const explain = (error: unknown): never => {
    throw log.explain(error);
  };
  const opening = connectInTime(start, limit).catch(explain);
  const opened = await (options.inBackground === true ? opening : holding(clock, opening));
  const connection = options.telemetry === undefined ? opened : await observed(opened, options, place);
  askForLogs(connection, options);
  const pingIntervalMs = canBeDead(connection, place) ? (options.pingIntervalMs ?? 0) : 0;
  const name = place && namePlace(place);
  return { client: createClient(connection, handlers, { ...options, pingIntervalMs }, name), connection };
}

/** Reports every call that is sent to telemetry, whose code is loaded on first use. */
async function observed(
  connection: Connection,
  { telemetry, clock = systemClock }: ConnectOptions,
  place: ParsedTarget | undefined,
): Promise<Connection> {
  const { observeConnection } = await import("../protocol/observe.ts");
  return observeConnection(connection, observedPlace(place), { telemetry: telemetryOf(telemetry), clock });
}

function observedPlace(place: ParsedTarget | undefined): ObservedPlace {
  if (place?.kind === "command") return { transport: "pipe" };
  if (place?.kind !== "url") return { transport: undefined };
  const { hostname, port, protocol } = place.url;
  return { transport: "tcp", serverAddress: hostname, serverPort: Number(port) || standardPorts[protocol] };
}

const standardPorts: Readonly<Record<string, number>> = { "http:": 80, "https:": 443 };

/** Whether there is anything between the two that could break without being noticed. */
function canBeDead({ ping }: Connection, place: ParsedTarget | undefined): boolean {
  if (place?.kind === "service" || place?.kind === "openapi" || place?.kind === "module") return false;
  // Without a session, every HTTP request is independent, so there is no connection that could break.
  return place?.kind !== "url" || ping !== undefined;
}

/** Sets the log level of a legacy server, which chooses its own level until then. An error of the server is ignored. */
function askForLogs({ server, setLogLevel }: Connection, options: ConnectOptions): void {
  const { onLog, logLevel = "info" } = options;
  const warn = toWarn(options.onWarning);
  if (onLog === undefined || server.capabilities.logging === undefined) return;
  setLogLevel?.(logLevel).catch((cause: unknown) => {
    if (cause instanceof McpError && cause.code === "connection-closed") return;
    warn({ kind: "not-honoured", message: `the server refuses log level ${logLevel}`, cause });
  });
}

async function open(
  platform: Platform,
  place: ParsedTarget,
  options: ConnectOptions,
  opening: Opening,
): Promise<Connection> {
  const isInProcess = place.kind === "service" || place.kind === "openapi" || place.kind === "module";
  if (options.identity !== undefined && !isInProcess) throw notInProcess(place);
  switch (place.kind) {
    case "service":
      return openInProcess(place.service, opening, options.identity);
    case "command":
      return platform.openCommand(place.command, opening, options);
    case "openapi":
    case "module":
      return openInProcess(await platform.openEntry(place.entry, options), opening, options.identity);
    case "channel":
      return openChannel(place.channel, opening, options.probeMs === undefined ? {} : { probeMs: options.probeMs });
    case "url":
      return openUrl(platform, place, options, opening);
  }
}

function notInProcess(place: ParsedTarget): McpError {
  const remedy = "only a server in this process takes it; give others credentials with auth or headers";
  return new McpError("unsupported", `cannot connect to ${describePlace(place)} with the option identity: ${remedy}`);
}

async function openUrl(
  platform: Platform,
  { url, transport, headers: fixed }: ParsedUrl,
  options: ConnectOptions,
  opening: Opening,
): Promise<Connection> {
  // The code for HTTP is loaded on first use.
  const [{ openHttp }, send] = await Promise.all([
    import("../transport/http/client/open-http.ts"),
    sendTo(url, platform, options),
  ]);
  const { probeMs } = options;
  const headers = both(fixed, options.headers);
  return openHttp(url, opening, {
    send,
    headers,
    auth: options.auth,
    allowInsecureHttp: options.allowInsecureHttp,
    limits: toLimits(options.limits, clientLimits, "connect"),
    transport,
    probeMs,
    warn: toWarn(options.onWarning),
  });
}

async function sendTo(url: URL, platform: Platform, options: ConnectOptions): Promise<HttpSend> {
  const { allowPrivateNetwork = true, fetch } = options;
  if (allowPrivateNetwork === true) return fetch === undefined ? platform.sendTo(url) : sendBy(fetch);
  const { addressGuard, guardedSend } = await import("../transport/http/client/address-guard.ts");
  const guard = addressGuard(allowPrivateNetwork);
  guard.check(url);
  const send = await (fetch === undefined ? platform.sendTo(url, guard) : sendBy(fetch));
  return guardedSend(send, guard);
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

/**
 * Identifies the server, equally for all clients that connect to it. Undefined for a server that no other client can
 * reach.
 *
 * It contains everything that decides which server answers, including secrets such as a key in a URL, so store no more
 * than a digest of it.
 */
export function namePlace(place: ParsedTarget): string | undefined {
  switch (place.kind) {
    case "url":
      return JSON.stringify(["url", place.url.href.replace(/#.*/s, "")]);
    case "command":
      return nameCommand(place.command);
    case "service":
    case "openapi":
    case "module":
    case "channel":
      return undefined;
  }
}

/** A program is another one in another folder, and with other settings. */
function nameCommand({ command, args = [], cwd, env, inheritEnv = [] }: Command): string {
  const { process } = globalThis as { readonly process?: Surroundings };
  const inherited = inheritEnv.map((name) => [name, process?.env?.[name] ?? null] as const);
  const settings = Object.entries({ ...Object.fromEntries(inherited), ...env }).toSorted();
  return JSON.stringify(["command", command, args, cwd ?? "", process?.cwd?.() ?? "", settings]);
}

/** What a platform that starts programs has. */
interface Surroundings {
  readonly env?: Readonly<Record<string, string>>;
  cwd?(): string;
}
