import { asJson, type JsonObject } from "../json/json.ts";
import type { Connection, Ending } from "../protocol/connection.ts";
import type { Resource, ResourceTemplate } from "../protocol/content.ts";
import { type Failure, McpError, toError } from "../protocol/errors.ts";
import type { Root } from "../protocol/input.ts";
import type { LogLevel } from "../protocol/logging.ts";
import type { DiscoverResult, Method, Params, Result } from "../protocol/methods.ts";
import type { CompleteParams, CompleteResult, GetPromptResult, Prompt } from "../protocol/prompt.ts";
import { isSince, newest, type Revision } from "../protocol/revision.ts";
import type { CallOf, Service } from "../protocol/service.ts";
import type { Change } from "../protocol/subscription.ts";
import type { Tool, ToolTypes } from "../protocol/tool.ts";
import { type Clock, systemClock } from "../std/clock.ts";
import { holding } from "../std/hold.ts";
import { lazy } from "../std/lazy.ts";
import { quote } from "../std/text.ts";
import type { CacheOptions } from "./cache-entries.ts";
import type { CachedCallOptions, CallOptions } from "./call-options.ts";
import { warnOfHidden, withoutMalformed } from "./list-entries.ts";
import { type ChangeKinds, createWatches, type Watch, type WatchOptions } from "./listen.ts";
import { createOutputChecks } from "./output-check.ts";
import type { ClientRequestHandlers, QuestionHandlers } from "./request-handlers.ts";
import {
  type Calls,
  createCalls,
  createNotificationSender,
  createRequests,
  type ListMethod,
  limitsOf,
  type PagesOptions,
  type Requests,
  unsupported,
} from "./requests.ts";
import { chooseCache } from "./response-cache.ts";
import type { TaskHandlesParts } from "./task-handles.ts";
import type { ClientTasks } from "./tasks.ts";
import { createToolCalls } from "./tool-calls.ts";
import { type CallTool, createTools, type ToolFunctions } from "./typed-tools.ts";
import { toWarn } from "./warning.ts";

/// <reference lib="esnext.disposable" preserve="true" />

export interface ClientOptions extends QuestionHandlers {
  /** For calls that state none: see {@link CallOptions}. Default 30 s. */
  readonly timeoutMs?: number | undefined;
  /** For calls that state none: see {@link CallOptions}. Default 10 min. */
  readonly maxTotalMs?: number | undefined;
  /** Calls that may be unanswered; more wait, in their order. Default 1024; 0 is off. */
  readonly maxOpenRequests?: number | undefined;
  /** Calls that may wait for that; one more fails with `limit-reached`. Default 10,000; 0 is off. */
  readonly maxQueuedCalls?: number | undefined;
  /** How often one call may ask for input. Default 10. */
  readonly maxRounds?: number | undefined;
  /** How many pages of a list are fetched. Default 1000. */
  readonly maxPages?: number | undefined;
  /**
   * Bytes of all pages of one list together. They are counted as they arrive; a list that has more fails with
   * `limit-reached`. Default 16 MiB; 0 is off.
   */
  readonly maxListBytes?: number | undefined;
  /**
   * Caches results for as long as the server allows: true (the default) in memory, a store to share them between
   * clients. False sends every request.
   */
  readonly cache?: boolean | CacheOptions | undefined;
  /**
   * False returns structured content unchecked. Otherwise it is validated against the output schemas of the last
   * `listTools`.
   */
  readonly checkOutput?: boolean | undefined;
  /** The least severe log message to ask for. Default `info`. */
  readonly logLevel?: LogLevel | undefined;
  /**
   * Interval of pings, in milliseconds. When the server does not answer within this time, the connection is closed:
   * calls fail with `connection-closed`, and a child process is ended. Default 0: no pings. Without effect for servers
   * in this process and for sessionless servers at a URL, which have no connection that could break.
   */
  readonly pingIntervalMs?: number | undefined;
  readonly clock?: Clock | undefined;
}

/**
 * One server, as its user sees it.
 *
 * Every method rejects with an `McpError`; switch on its `code`. A method whose
 * capability the server does not have fails with `unsupported`, without asking it.
 */
export interface Client<T extends ToolTypes = ToolTypes> extends AsyncDisposable {
  /** What the server said of itself when the connection was opened. */
  readonly server: DiscoverResult;
  readonly revision: Revision;
  /** The tools as functions that return values: `await client.tools.buy({ sku })`. */
  readonly tools: ToolFunctions<T>;

  /**
   * Calls a tool. A failure the tool reports is a result with `isError`, not a
   * throw. When the server makes a task of it, this waits for its end, and
   * whatever ends the call earlier ends the task. Where the types of the tools are known, only their names and
   * arguments are taken.
   */
  readonly callTool: CallTool<T>;
  /** Tasks that outlive a call. */
  readonly tasks: ClientTasks;
  /** All tools on all pages. In every list, malformed and duplicate entries are left out, with a warning. */
  listTools(options?: CachedCallOptions): Promise<readonly Tool[]>;
  listResources(options?: CachedCallOptions): Promise<readonly Resource[]>;
  listResourceTemplates(options?: CachedCallOptions): Promise<readonly ResourceTemplate[]>;
  listPrompts(options?: CachedCallOptions): Promise<readonly Prompt[]>;
  /** The pages of a list as the server sends them, each fetched when asked for. */
  pages<M extends ListMethod>(method: M, options?: PagesOptions): AsyncIterable<Result<M>>;
  readResource(uri: string, options?: CachedCallOptions): Promise<Result<"resources/read">>;
  getPrompt(name: string, args?: Readonly<Record<string, string>>, options?: CallOptions): Promise<GetPromptResult>;
  complete(params: CompleteParams, options?: CallOptions): Promise<CompleteResult>;

  /** What the server says of itself now. A legacy server said it once, when the connection was opened. */
  discover(options?: CachedCallOptions): Promise<DiscoverResult>;
  /** Resolves when the server answers. */
  ping(options?: CallOptions): Promise<void>;
  /** From now on, asks for log messages of this level and above. */
  setLogLevel(level: LogLevel, options?: CallOptions): Promise<void>;
  /** Sends any request directly to the server, without a check of capabilities and without the cache. */
  request<M extends Method>(method: M, params: Params<M>, options?: CallOptions): Promise<Result<M>>;
  request(method: string, params?: JsonObject, options?: CallOptions): Promise<JsonObject>;

  /** Watches a resource for changes. */
  watch(uri: string, options?: WatchOptions): Watch<{ readonly uri: string }>;
  /** Watches lists for changes. Without kinds: all lists whose changes the server announces. */
  changes(kinds?: ChangeKinds, options?: WatchOptions): Watch<Change>;
  /**
   * Sends a notification that the protocol does not define. There is no confirmation of delivery. Throws
   * `invalid-params` for a notification of the protocol, and `connection-closed` when the client is closed.
   */
  notify(method: string, params?: JsonObject): void;
  /** Replaces the roots and says so. Throws `unsupported` unless `roots.listChanged` was declared. */
  setRoots(roots: readonly Root[]): void;

  /** Resolves when the connection is over: with the reason, or undefined when this side closed it. */
  readonly closed: Promise<Ending>;
  /** Fails what is open with `connection-closed`. Idempotent, never rejects. */
  close(): Promise<void>;
}

/**
 * Creates a client on an open connection. `handlers` are those that the connection was opened with; `place` identifies
 * the server.
 */
export function createClient<T extends ToolTypes = ToolTypes>(
  connection: Connection,
  handlers: ClientRequestHandlers,
  options: ClientOptions = {},
  place?: string,
): Client<T> {
  const {
    clock = systemClock,
    maxOpenRequests = 1024,
    maxQueuedCalls = 10_000,
    maxRounds = 10,
    maxPages = 1000,
    maxListBytes = 16_777_216,
    onLog,
    logLevel = "info",
  } = options;
  const { server, revision } = connection;
  const warn = toWarn(options.onWarning);
  const { instructions, serverInfo } = server;
  warnOfHidden(() => `server ${quote(serverInfo.name)}`, { instructions, serverInfo }, warn);
  const limits = limitsOf(options, standardLimits);
  const bounds = { limits, maxOpenRequests, maxQueuedCalls, maxRounds };
  const requests = createRequests({ connection, handlers, clock, warn, ...bounds, onLog, logLevel });
  const lists = withoutMalformed(connection.service, warn);
  const cache = chooseCache(options.cache ?? true, { service: lists, connection, clock, warn, place });
  const checks = createOutputChecks(warn);
  const { call, pages, list } = createCalls({ server, requests, lists, cache, maxPages, maxListBytes, warn });
  const { close, closed, isClosed, lose } = createLifetime(connection, requests, clock);
  void closed.then(handlers.close);

  const onChange = (change: Change): void => {
    cache?.invalidate(change);
    if (change.kind === "tools") checks.forget();
  };
  const { send } = requests;
  const { watch, changes } = createWatches({ server, send, clock, confirmMs: limits.idleMs, warn, isClosed, onChange });

  const checksOutput = options.checkOutput !== false;
  const { callTool, listTools } = createToolCalls({ connection, handlers, send, call, list, checks, checksOutput });

  const connectionMethods = createConnectionMethods(connection, requests, call);
  if (options.pingIntervalMs) {
    const ping = (timeoutMs: number): Promise<void> => connectionMethods.ping({ timeoutMs });
    void closed.then(
      watchPings({ server: server.serverInfo.name, clock, intervalMs: options.pingIntervalMs, ping, onLost: lose }),
    );
  }

  return {
    server,
    revision,
    tools: createTools<T>((name, input, callOptions) => callTool(name, input && asJson(input), callOptions)),
    // The types of tools exist at compile time only.
    callTool: callTool as CallTool<T>,
    tasks: createTasks({ connection, send, warn, lists, checks, checksOutput, maxPages, listTools }),
    listTools,
    listResources: (given) => list("resources/list", (page) => page.resources, given),
    listResourceTemplates: (given) => list("resources/templates/list", (page) => page.resourceTemplates, given),
    listPrompts: (given) => list("prompts/list", (page) => page.prompts, given),
    pages,
    readResource: (uri, given) => call("resources/read", { uri }, given),
    async getPrompt(name, args, given) {
      const result = await call("prompts/get", args === undefined ? { name } : { name, arguments: args }, given);
      warnOfHidden(() => `prompt ${quote(name)}`, result, warn);
      return result;
    },
    complete: (params, given) => call("completion/complete", params, given),
    ...connectionMethods,
    request: (method: string, params: JsonObject = {}, given?: CallOptions) => requests.sendRaw(method, params, given),
    watch,
    changes,
    ...createNotificationSender(connection, handlers, isClosed),
    closed,
    close,
    [Symbol.asyncDispose]: close,
  };
}

const standardLimits = { idleMs: 30_000, totalMs: 600_000 };

/** The tasks of one client. What deals with them is loaded when first used. */
function createTasks(parts: TaskHandlesParts): ClientTasks {
  const handles = lazy(
    () => import("./task-handles.ts"),
    ({ createTaskHandles }) => createTaskHandles(parts),
  );

  return {
    start: async (name, args, options) => (await handles.load()).start(name, args, options),
    resume: async (taskId, options) => (await handles.load()).resume(taskId, options),
    list: async (options) => (await handles.load()).list(options),
  };
}

/** The end of a client. */
interface Lifetime {
  /** True once this side has closed the connection. */
  isClosed(): boolean;
  /** Resolves when the connection ends: with the failure, or with undefined when this side closed it. */
  readonly closed: Promise<Ending>;
  /** Fails what is open, then waits for the connection to close. Idempotent, never rejects. */
  close(): Promise<void>;
  /** Closes a broken connection: open requests fail with the reason. */
  lose(reason: Failure): void;
}

/** Fails the open requests of a client when its connection ends, whichever side closes it. */
function createLifetime(connection: Connection, requests: Requests, clock: Clock): Lifetime {
  let closedHere = false;
  let isOver = false;
  let onLost: Failure | undefined;
  let closing: Promise<void> | undefined;

  const closed = connection.ended.then((ended): Ending => {
    const ending = onLost ?? ended;
    closedHere ||= ending === undefined;
    isOver = true;
    requests.refuse(ending?.message ?? "the connection is closed", ending && toError(ending));
    // What arrived before the end may still be on its way through a few promises.
    clock.after(0, requests.endAll);
    return ending;
  });

  const end = (why: string, cause?: unknown): Promise<void> => {
    requests.refuse(why, cause);
    closing ??= holding(clock, connection.close());
    // When the connection has ended already, `closed` fails the open calls with the reason.
    if (!isOver) requests.endAll();
    return closing;
  };

  return {
    isClosed: () => closedHere,
    closed,
    close() {
      if (closing !== undefined) return closing;
      closedHere = true;
      return end("the client is closed");
    },
    lose(reason) {
      if (closing !== undefined) return;
      onLost = reason;
      void end(reason.message, toError(reason));
    },
  };
}

/** What concerns the connection and not what the server is for. The eras differ most here; the caller sees one. */
interface ConnectionMethods {
  discover(options?: CachedCallOptions): Promise<DiscoverResult>;
  ping(options?: CallOptions): Promise<void>;
  setLogLevel(level: LogLevel, options?: CallOptions): Promise<void>;
}

function createConnectionMethods(connection: Connection, requests: Requests, call: Calls["call"]): ConnectionMethods {
  const { server, revision } = connection;

  return {
    async discover(options) {
      return isSince(revision, newest) ? call("server/discover", {}, options) : server;
    },
    async ping(options) {
      // It finds out whether the server is there, so it waits for no other call.
      if (connection.ping === undefined) await requests.send("server/discover", {}, options, { skipsQueue: true });
      else
        await requests.sendRaw("ping", {}, options, {
          service: toService(({ headers }) => connection.ping?.(headers)),
          skipsQueue: true,
        });
    },
    async setLogLevel(level, options) {
      if (server.capabilities.logging === undefined) throw unsupported(server, "logging/setLevel", "logging");
      const service = toService(({ headers }) => connection.setLogLevel?.(level, headers));
      await requests.sendRaw("logging/setLevel", { level }, options, { service });
      requests.logLevel = level;
    },
  };
}

/** A service for what the connection does by itself, so that it has the limits of any other call. */
function toService(work: (call: CallOf) => Promise<void> | undefined): Service {
  return async <M extends Method>(call: CallOf<M>) => {
    await work(call);
    return { kind: "complete", result: {} as Result<M> };
  };
}

interface PingWatchOptions {
  readonly clock: Clock;
  readonly intervalMs: number;
  /** Its name, for errors. */
  readonly server: string;
  /** Asks the server whether it is there. Rejects with `timeout` when it does not say within the given time. */
  ping(timeoutMs: number): Promise<void>;
  /** Called once, when a ping was not answered. */
  onLost(reason: Failure): void;
}

/** Asks a server again and again whether it is there, until it is not. Returns how to stop. */
function watchPings({ clock, intervalMs, server, ping, onLost }: PingWatchOptions): () => void {
  let isOver = false;
  let disarm = (): void => {};

  const ask = async (): Promise<void> => {
    try {
      await ping(intervalMs);
    } catch (error) {
      // A ping that the server refuses is an answer too.
      if (!isOver && error instanceof McpError && error.code === "timeout") {
        const message = `server ${quote(server)} did not answer a ping within ${intervalMs} ms (pingIntervalMs)`;
        return onLost({ code: "connection-closed", message });
      }
    }
    askLater();
  };
  const askLater = (): void => {
    if (!isOver) disarm = clock.after(intervalMs, () => void ask());
  };

  askLater();
  return () => {
    isOver = true;
    disarm();
  };
}
