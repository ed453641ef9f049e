import type { Json, JsonObject } from "../json/json.ts";
import { callerMissing, McpError } from "../protocol/errors.ts";
import type { CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult, Root } from "../protocol/input.ts";
import { isAtLeast, type LogLevel } from "../protocol/logging.ts";
import { isVendorMethod } from "../protocol/notification.ts";
import { type Auth, type ClientInfo, type Identity, session, upstreamToken } from "../protocol/peer.ts";
import type { KnownPlatform } from "../protocol/platform.ts";
import { type Outcome, requestIdOf, taskIdOf } from "../protocol/service.ts";
import type { AnySchema, InferOut } from "../schema/infer.ts";
import type { HttpRequestInfo } from "../std/http-request-info.ts";
import { type Lazy, lazy } from "../std/lazy.ts";
import { redact } from "../std/redact.ts";
import type { AskOptions, AskUrlOptions, EmptyForm } from "./ask.ts";
import type { Environment } from "./environment.ts";
import type { Execution, Job } from "./runs/execution.ts";
import type { StateOptions } from "./state.ts";
import type { CallerState, KnownState, Session, State } from "./state-types.ts";

/** What a handler sees of the call that runs it. Its members may be taken apart. */
export interface Context {
  /** Aborts when the caller cancels or leaves, and when the time is up. */
  readonly signal: AbortSignal;
  /** The client: revision, name, capabilities, verified identity. */
  readonly client: ClientInfo;
  /**
   * The authenticated caller: principal, scopes, claims, and `state`, which is saved for this principal. Never the
   * credentials.
   */
  readonly auth: CallerAuth | undefined;
  /**
   * The session of the client, with a state that ends with it. Undefined for clients of 2026-07-28, which have none over any
   * transport, and for calls in the same process.
   */
  readonly session: Session | undefined;
  /**
   * Unique for this call: the same in events, for `onError` and in the error that the client gets. A call that returns
   * with answers has another one.
   */
  readonly requestId: string;
  /** The id of the task that this call is, for `server.task(id)`. Undefined while it is not a task. */
  readonly taskId: string | undefined;
  /** `_meta` of the request. */
  readonly meta: JsonObject;
  /** The HTTP request that brought the call, where it came by HTTP. Headers are unverified. */
  readonly http: HttpRequestInfo | undefined;
  /**
   * The value of the option `platform` for this request: the `env` of a Worker, the request of a framework. Undefined
   * without that option, and where a task continues after its request. Its type is {@link Platform}.
   */
  readonly platform: KnownPlatform | undefined;
  /**
   * Reports progress; values must increase. A no-op when the caller did not request progress. Resets the handler's
   * timeout. A returned promise is backpressure: what is reported before it resolves is not sent.
   */
  readonly progress: (progress: number, total?: number, message?: string) => Promise<void> | undefined;
  /** Iterates over items, reporting progress and stopping when the call is aborted. */
  readonly track: <T>(items: Iterable<T> | AsyncIterable<T>, total?: number) => AsyncIterable<T>;
  /**
   * Sends a log message to the caller, if it requests messages of this level. Members that look like credentials are
   * hidden. A returned promise is backpressure.
   */
  readonly log: (level: LogLevel, data: unknown, logger?: string) => Promise<void> | undefined;
  /**
   * Sends a notification that the protocol does not define, for clients that support it: `ctx.notify("acme/restocked",
   * { sku })`. A no-op once the call has ended, and in a task. A returned promise is backpressure. Throws
   * `invalid-definition` for a notification of the protocol.
   */
  readonly notify: (method: string, params?: JsonObject) => Promise<void> | undefined;
  /**
   * Asks the user to fill a form and waits for the checked answer. Without a
   * schema there is nothing to fill in: the user can only agree.
   *
   * Throws `declined` when the user says no, `missing-capability` when the
   * client cannot ask. Where the client cannot be asked while the call waits,
   * the handler may be run again from its start: put side effects before a
   * question into `step`.
   */
  readonly ask: <const S extends AnySchema = EmptyForm>(
    message: string,
    schema?: S,
    options?: AskOptions,
  ) => Promise<InferOut<S>>;
  /** Asks the user to open a page. Resolves on consent, which is not completion. Throws `declined`. */
  readonly askUrl: (message: string, url: string, options?: AskUrlOptions) => Promise<void>;
  /**
   * Notifies the client that was asked to open a page that its user is done there, for pages of any call and process.
   * The same as `server.completeElicitation`.
   */
  readonly completeElicitation: (elicitationId: string) => void;
  /** Asks like `ask` and `askUrl`, and returns the raw answer: accepted, declined or cancelled. */
  readonly elicit: (params: ElicitParams, options?: AskOptions) => Promise<ElicitResult>;
  /** Asks the model of the client for a completion. */
  readonly sample: (params: CreateMessageParams, options?: AskOptions) => Promise<CreateMessageResult>;
  /** The folders that the client lets this server access. */
  readonly roots: (options?: AskOptions) => Promise<readonly Root[]>;
  /**
   * Runs `work` once for its key, also when the handler is run again, and returns its result, as JSON, to every run.
   * Work that throws counts as not run.
   */
  readonly step: <T>(key: string, work: () => T | Promise<T>) => Promise<T>;
  /**
   * Closes the connection that the client waits on, to be opened again after `retryMs`: for long work behind proxies
   * that cut long responses. The call continues, and nothing is lost. A no-op where the client could not reconnect.
   */
  readonly closeStream: (retryMs?: number) => void;
}

/** The authenticated caller, and its state. */
export type CallerAuth = Auth & {
  readonly state: State<KnownState<CallerState>>;
  /**
   * An access token of the identity provider that the caller signed in with, for calls to its API. It is refreshed
   * shortly before it expires. Rejects with `unauthorized` when the provider has ended the sign-in, and with
   * `unsupported` unless users sign in by `oauthProxy`. Never send it to the client.
   */
  readonly upstreamToken: () => Promise<string>;
};

/** What a context needs of its server. */
type ContextParts = Pick<Environment, "logging" | "completeElicitation" | "store" | "audience">;

class KnownCaller implements Identity {
  readonly principal: string;
  declare readonly [upstreamToken]?: () => Promise<string>;
  readonly #env: ContextParts;

  constructor(auth: Auth, env: ContextParts) {
    this.principal = auth.principal;
    Object.assign(this, auth);
    this.#env = env;
  }

  get state(): State<JsonObject> {
    return stateOf(this.#env, { of: "caller", id: this.principal, ttlMs: CALLER_STATE_MS });
  }

  get upstreamToken(): () => Promise<string> {
    return this[upstreamToken] ?? noUpstream;
  }
}

async function noUpstream(): Promise<never> {
  throw new McpError("unsupported", "upstreamToken needs auth: oauthProxy(…)");
}

/** The state of a caller is deleted when it was not used for this time. */
const CALLER_STATE_MS = 90 * 24 * 3_600_000;

/** What it takes is loaded when it is first used. */
function stateOf(env: ContextParts, options: StateOptions): State<JsonObject> {
  const state = lazy(lazyQuestions.load, ({ createState }) => createState(env, options));
  return {
    get: async () => (await state.load()).get(),
    set: async (value) => (await state.load()).set(value),
    update: async (change) => (await state.load()).update(change),
    delete: async () => (await state.load()).delete(),
  };
}

/** The context of one run. Its functions are made when they are first read. */
export class RunContext implements Context {
  readonly #run: Execution;
  readonly #env: ContextParts;

  constructor(run: Execution, env: ContextParts) {
    this.#run = run;
    this.#env = env;
  }

  get signal(): AbortSignal {
    return this.#run.signal;
  }

  get client(): ClientInfo {
    this.#run.isPersonal = true;
    return this.#run.call.peer;
  }

  get auth(): CallerAuth | undefined {
    this.#run.isPersonal = true;
    const { auth } = this.#run.call.peer;
    return auth && (new KnownCaller(auth, this.#env) as CallerAuth);
  }

  get session(): Session | undefined {
    return this.client[session] as Session | undefined;
  }

  get requestId(): string {
    return requestIdOf(this.#run.call);
  }

  get taskId(): string | undefined {
    return taskIdOf(this.#run.call);
  }

  get meta(): JsonObject {
    this.#run.isPersonal = true;
    return this.#run.call.meta;
  }

  get http(): HttpRequestInfo | undefined {
    this.#run.isPersonal = true;
    return this.#run.call.http;
  }

  get platform(): KnownPlatform | undefined {
    const { http } = this;
    const { platform = http?.platform } = this.#run.call;
    return platform?.() as KnownPlatform | undefined;
  }

  get closeStream(): Context["closeStream"] {
    const run = this.#run;
    return (retryMs) => run.call.closeStream?.(retryMs);
  }

  get progress(): Context["progress"] {
    const run = this.#run;
    return (progress, total, message) => run.progress(progress, total, message);
  }

  get track(): Context["track"] {
    const run = this.#run;
    return (items, total) => track(run, items, total);
  }

  get log(): Context["log"] {
    const run = this.#run;
    if (!this.#env.logging) return refuseLog;
    return (level, data, logger) => log(run, { level, data, ...(logger !== undefined && { logger }) });
  }

  get notify(): Context["notify"] {
    const run = this.#run;
    return (method, params = {}) => run.notify(vendorMethod(method), params);
  }

  /** The run, for a question: what its client answers is for this caller only. */
  get #askingRun(): Execution {
    this.#run.isPersonal = true;
    return this.#run;
  }

  get ask(): Context["ask"] {
    const run = this.#askingRun;
    return (message, schema, options) => asking(({ ask }) => ask(run, { message, schema }, options));
  }

  get askUrl(): Context["askUrl"] {
    const run = this.#askingRun;
    return (message, url, options) => asking(({ askUrl }) => askUrl(run, { message, url }, options));
  }

  get completeElicitation(): Context["completeElicitation"] {
    return this.#env.completeElicitation;
  }

  get elicit(): Context["elicit"] {
    const run = this.#askingRun;
    return (params, options) => asking(({ elicit }) => elicit(run, params, options));
  }

  get sample(): Context["sample"] {
    const run = this.#askingRun;
    return (params, options) => asking(({ sample }) => sample(run, params, options));
  }

  get roots(): Context["roots"] {
    const run = this.#askingRun;
    return (options) => asking(({ roots }) => roots(run, options));
  }

  get step(): Context["step"] {
    const run = this.#run;
    return <T>(key: string, work: () => T | Promise<T>) => asking(({ step }) => step(run, key, work)) as Promise<T>;
  }
}

type Questions = typeof import("./lazy-parts.ts");

/** What handlers need that ask or run steps. */
export const lazyQuestions: Lazy<Questions> = lazy(() => import("./lazy-parts.ts"));

/**
 * Asks a question, or runs a step. The code for that is loaded on first use.
 *
 * The rejection need not be handled: a handler may ask several questions, await one and never reach the next, which
 * must not end the process.
 */
function asking<T>(put: (questions: Questions) => Promise<T>): Promise<T> {
  const { loaded } = lazyQuestions;
  const answer = loaded === undefined ? lazyQuestions.load().then(put) : put(loaded);
  answer.catch(() => {});
  return answer;
}

async function* track<T>(run: Execution, items: Iterable<T> | AsyncIterable<T>, total = sizeOf(items)) {
  let done = 0;
  for await (const item of items) {
    run.signal.throwIfAborted();
    yield item;
    await run.progress(++done, total);
  }
}

function sizeOf(items: object): number | undefined {
  if (Array.isArray(items)) return items.length;
  return "size" in items && typeof items.size === "number" ? items.size : undefined;
}

interface LogEntry {
  readonly level: LogLevel;
  readonly data: unknown;
  readonly logger?: string;
}

function log(run: Execution, { level, data, logger }: LogEntry): Promise<void> | undefined {
  const { logLevel } = run.call;
  if (logLevel === undefined || !isAtLeast(level, logLevel)) return undefined;
  return run.notify("notifications/message", {
    level,
    ...(logger !== undefined && { logger }),
    data: (redact(data) as Json | undefined) ?? null,
  });
}

/** Notifications of the protocol are sent by the parts of the server that follow their rules. */
function vendorMethod(method: string): string {
  if (isVendorMethod(method)) return method;
  const message = `ctx.notify cannot send ${method}: use ctx.progress, ctx.log or server.notify for what the protocol defines`;
  throw new McpError("invalid-definition", message);
}

function refuseLog(): never {
  throw new McpError("unsupported", "cannot send log messages: createServer needs logging: true");
}

/**
 * The caller, for a handler that requires authentication. Throws `unauthorized` for an anonymous caller: over HTTP that
 * is a 401, so that clients can sign in.
 *
 * @example run: (_, ctx) => ordersOf(requireAuth(ctx).claims.tenant)
 */
export function requireAuth<A extends Identity>({ auth }: { readonly auth: A | undefined }): A {
  if (auth === undefined) throw callerMissing();
  return auth;
}

/** The work of a handler, and the outcome for its value. */
interface Handling<T> {
  readonly method: string;
  readonly name?: string;
  run(context: Context): T | Promise<T>;
  /** `isPersonal` when the handler looked at who calls, or asked. */
  finish(value: T, isPersonal: boolean): Outcome;
}

/** A job whose errors fail the call. */
export function handlerJob<T>(env: Environment, { method, name, run, finish }: Handling<T>): Job {
  let running: Execution | undefined;
  return {
    timeoutMs: env.timeoutMs,
    start(execution: Execution) {
      running = execution;
      return run(new RunContext(execution, env));
    },
    finish: (value) => finish(value as T, running?.isPersonal === true),
    fail: (error) => ({
      kind: "failed",
      failure: env.errors.failureOf(error, method, name, running?.call),
      cause: error,
    }),
  };
}
