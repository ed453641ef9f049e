import { asJson, type JsonObject } from "../json/json.ts";
import type { Connection, Ending } from "../model/connection.ts";
import type { Root } from "../model/input.ts";
import type { LogLevel } from "../model/logging.ts";
import type { DiscoverResult, Method, Params, Result } from "../model/methods.ts";
import type { Extensions } from "../model/peer.ts";
import type { CompleteParams, CompleteResult, GetPromptResult, Prompt } from "../model/prompt.ts";
import type { Resource, ResourceTemplate } from "../model/resource.ts";
import { eraOf, type Revision } from "../model/revision.ts";
import type { ToolShapes } from "../model/shape.ts";
import type { Change } from "../model/subscription.ts";
import { type TaskTerms, tasksExtension } from "../model/task.ts";
import type { CallToolResult, Tool } from "../model/tool.ts";
import { type Clock, systemClock } from "../std/clock.ts";
import type { AnswerDesk, AnswerOptions } from "./answers.ts";
import { type CacheOptions, chooseCache } from "./cache-choice.ts";
import type { CachedCallOptions, CallOptions, ToolCallOptions } from "./call-options.ts";
import { createCalls, type ListMethod, type PagesOptions } from "./calls.ts";
import { createOutputChecks } from "./check-output.ts";
import { createLifetime } from "./lifetime.ts";
import type { Watch, WatchOptions } from "./listen.ts";
import { createRequests, limitsOf } from "./request.ts";
import { createTasks, type Tasks } from "./tasks.ts";
import { createTools, type Tools } from "./typed-tools.ts";
import { createUpkeep } from "./upkeep.ts";
import { toWarn } from "./warning.ts";
import { type ChangeKinds, createWatches } from "./watches.ts";

export interface ClientOptions extends AnswerOptions {
  /** For calls that state none: see {@link CallOptions}. Default 30 s. */
  readonly timeoutMs?: number;
  /** For calls that state none: see {@link CallOptions}. Default 10 min. */
  readonly maxTotalMs?: number;
  /** Calls that may be unanswered; one more fails with `limit-reached`. Default 1024; 0 is off. */
  readonly maxInFlight?: number;
  /** How often one call may ask for input. Default 10. */
  readonly maxRounds?: number;
  /** How many pages of a list are fetched. Default 1000. */
  readonly maxPages?: number;
  /**
   * Keeps results for as long as the server allows: true (the default) in memory,
   * a store for others too. False asks the server every time.
   */
  readonly cache?: boolean | CacheOptions;
  /** False takes structured content as it comes. Otherwise it is checked against the schemas of the last `listTools`. */
  readonly checkOutput?: boolean;
  /** The least severe log message to ask for. Default `info`. */
  readonly logLevel?: LogLevel;
  readonly clock?: Clock;
}

/**
 * One server, as its user sees it.
 *
 * Every method rejects with an `McpError`; switch on its `code`. A method the
 * server does not offer fails with `unsupported`, without asking it.
 */
export interface Client<T extends ToolShapes = ToolShapes> extends AsyncDisposable {
  /** What the server said of itself when the connection was opened. */
  readonly server: DiscoverResult;
  readonly revision: Revision;
  /** The tools as functions that return values: `await client.tools.buy({ sku })`. */
  readonly tools: Tools<T>;

  /**
   * Calls a tool. A failure the tool reports is a result with `isError`, not a
   * throw. When the server makes a task of it, this waits for its end, and
   * whatever ends the call earlier ends the task.
   */
  callTool(name: string, args?: JsonObject, options?: ToolCallOptions): Promise<CallToolResult>;
  /** Tasks that outlive a call. */
  readonly tasks: Tasks;
  /** All tools on all pages. Malformed entries are left out, with a warning. */
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
  /** Sends any request, straight to the server: no capability is checked and no kept result is used. */
  request<M extends Method>(method: M, params: Params<M>, options?: CallOptions): Promise<Result<M>>;
  request(method: string, params?: JsonObject, options?: CallOptions): Promise<JsonObject>;

  /** Tells when a resource changes. */
  watch(uri: string, options?: WatchOptions): Watch<{ readonly uri: string }>;
  /** Tells when lists change. Without kinds: of all that the server announces. */
  changes(kinds?: ChangeKinds, options?: WatchOptions): Watch<Change>;
  /** Replaces the roots and says so. Throws `unsupported` unless `roots.listChanged` was declared. */
  setRoots(roots: readonly Root[]): void;

  /** Resolves when the connection is over: with the reason, or undefined when this side closed it. */
  readonly closed: Promise<Ending>;
  /** Fails what is open with `connection-closed`. Idempotent, never rejects. */
  close(): Promise<void>;
}

/** A client over an open connection. `desk` is the one the connection was opened with; `place` names where the server is. */
export function createClient<T extends ToolShapes = ToolShapes>(
  connection: Connection,
  desk: AnswerDesk,
  options: ClientOptions = {},
  place?: string,
): Client<T> {
  const {
    clock = systemClock,
    maxInFlight = 1024,
    maxRounds = 10,
    maxPages = 1000,
    onLog,
    logLevel = "info",
  } = options;
  const { server, revision } = connection;
  const warn = toWarn(options.onWarning);
  const limits = limitsOf(options, standardLimits);
  const requests = createRequests({ connection, desk, clock, warn, limits, maxInFlight, maxRounds, onLog, logLevel });
  const cache = chooseCache(options.cache ?? true, { connection, clock, warn, place });
  const checks = createOutputChecks(warn);
  const { call, pages, list } = createCalls({ server, requests, cache, maxPages });
  const { close, isClosed } = createLifetime(connection, requests, clock);

  const onChange = (change: Change): void => {
    cache?.invalidate(change);
    if (change.kind === "tools") checks.forget();
  };
  const { send } = requests;
  const { watch, changes } = createWatches(server, { send, clock, confirmMs: limits.idleMs, warn, isClosed, onChange });

  const checksOutput = options.checkOutput !== false;
  const mayNeedTask = eraOf(revision) === "legacy" && hasTasks(desk) && hasTasks(server);
  const callKnown: Client["callTool"] = (name, args, callOptions) => {
    const params = args === undefined ? { name } : { name, arguments: args };
    const result =
      mayNeedTask && checks.taskSupport(name) === "required"
        ? send("tools/call", params, callOptions, asTask)
        : call("tools/call", params, callOptions);
    if (!checksOutput || !checks.knows(name)) return result;
    return result.then((given) => checks.check(name, given));
  };

  const listTools: Client["listTools"] = async (given) =>
    checks.learn(await list("tools/list", (page) => page.tools, given));

  let learning: Promise<unknown> | undefined;
  /** Which tools must be run as tasks, only the list says. Without it, the server says what is wrong. */
  const learn = (): Promise<unknown> => {
    learning ??= listTools()
      .catch(() => undefined)
      .finally(() => {
        learning = undefined;
      });
    return learning;
  };
  const callTool: Client["callTool"] = (name, args, callOptions) =>
    mayNeedTask && !checks.hasLearned
      ? learn().then(() => callKnown(name, args, callOptions))
      : callKnown(name, args, callOptions);

  return {
    server,
    revision,
    tools: createTools<T>((name, input, callOptions) => callTool(name, input && asJson(input), callOptions)),
    callTool,
    tasks: createTasks({ connection, send, checks, checksOutput, maxPages, listTools }),
    listTools,
    listResources: (given) => list("resources/list", (page) => page.resources, given),
    listResourceTemplates: (given) => list("resources/templates/list", (page) => page.resourceTemplates, given),
    listPrompts: (given) => list("prompts/list", (page) => page.prompts, given),
    pages,
    readResource: (uri, given) => call("resources/read", { uri }, given),
    getPrompt: (name, args, given) =>
      call("prompts/get", args === undefined ? { name } : { name, arguments: args }, given),
    complete: (params, given) => call("completion/complete", params, given),
    ...createUpkeep(connection, requests, call),
    request: (method: string, params: JsonObject = {}, given?: CallOptions) => requests.sendRaw(method, params, given),
    watch,
    changes,
    setRoots(roots) {
      desk.setRoots(roots);
      connection.tell?.("notifications/roots/list_changed", {});
    },
    closed: connection.ended,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function hasTasks({ capabilities }: { readonly capabilities: { readonly extensions?: Extensions } }): boolean {
  return capabilities.extensions?.[tasksExtension] !== undefined;
}

/** What a tool of 2025-11-25 that runs only as a task has to be told. */
const asTask: { readonly tasks: TaskTerms } = { tasks: { wanted: true } };

const standardLimits = { idleMs: 30_000, totalMs: 600_000 };
