import type { JsonObject } from "../json/json.ts";
import { toBase64Url } from "../std/base64.ts";
import type { HttpRequestInfo } from "../std/http-request-info.ts";
import { type Lazy, lazy } from "../std/lazy.ts";
import { LazyAbort } from "../std/lazy-abort.ts";
import type { Failure } from "./errors.ts";
import type { Question, QuestionAnswer } from "./input.ts";
import type { LogLevel } from "./logging.ts";
import type { Method, Params, Result } from "./methods.ts";
import type { ClientInfo } from "./peer.ts";
import type { Task, TaskTerms } from "./task.ts";

/** Sends a notification that belongs to a call. A returned promise is backpressure. */
export type Notify = (method: string, params: JsonObject) => Promise<void> | undefined;

/** Puts a question to the client and waits. Rejects when no answer can come. */
export type Ask = (question: Question) => Promise<QuestionAnswer>;

/** Ends a connection that the caller is to open again after `retryMs`. */
export type CloseStream = (retryMs?: number) => void;

/**
 * One request on its way to a {@link Service}. Immutable: to change one, pass on
 * {@link withCall}. A union over the methods, so that comparing `method` narrows
 * `params`.
 */
export type Call<M extends Method = Method> = { [K in M]: CallOf<K> }[M];

/** A call whose method is a type parameter, or is not looked at. */
export interface CallOf<M extends Method = Method> {
  readonly method: M;
  readonly params: Params<M>;
  readonly peer: ClientInfo;
  /** `_meta` of the request, as sent. */
  readonly meta: JsonObject;
  /** True when the caller requests progress. */
  readonly wantsProgress: boolean;
  /** The lowest level of log messages that the caller requests. Absent means none. */
  readonly logLevel: LogLevel | undefined;
  /** Answers to the questions of an earlier `input-required` outcome, by key. */
  readonly answers: Readonly<Record<string, unknown>> | undefined;
  /** The opaque state that came with those questions. */
  readonly state: string | undefined;
  /** Aborts when the caller cancels, times out or disconnects. Made when first read. */
  readonly signal: AbortSignal;
  /** Sends a notification tied to this call. A no-op after the outcome. */
  readonly notify: Notify;
  /** Asks the client while the call waits. Absent where the client can only be asked by an outcome. */
  readonly ask: Ask | undefined;
  /** What brought the call, where that was HTTP. */
  readonly http: HttpRequestInfo | undefined;
  /** Makes `ctx.platform` of a call that HTTP did not bring. */
  readonly platform?: (() => unknown) | undefined;
  /** Headers that the caller wants sent with the call, where it goes out over HTTP. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Closes the connection that the caller waits on; the client reconnects for the rest. Absent where it cannot. */
  readonly closeStream: CloseStream | undefined;
  /** Absent where the caller could not follow a task. */
  readonly tasks: TaskTerms | undefined;
  /** The most that the response may have, where that is less than the connection allows. */
  readonly maxBytes?: number | undefined;
  /** The id of the JSON-RPC request that brought the call, where there was one. */
  readonly rpcId?: string | number | undefined;
  /** Called with the id of the JSON-RPC request that carries the call to a server. */
  readonly onSent?: ((rpcId: string | number) => void) | undefined;
}

/** How a call ended. Unlike {@link Call} it is not a union over the methods (ADR 110). */
export type Outcome<M extends Method = Method> = OutcomeOf<M>;

/** How a call ended whose method is a type parameter. */
export type OutcomeOf<M extends Method = Method> =
  | {
      readonly kind: "complete";
      readonly result: Result<M>;
      /** How long the text of a long response was, where it came over a wire. */
      readonly size?: number;
      /** The error that a tool threw, where the result has `isError`. It stays in this process. */
      readonly cause?: unknown;
    }
  | {
      readonly kind: "input-required";
      readonly questions: Readonly<Record<string, Question>>;
      readonly state?: string;
    }
  | { readonly kind: "task"; readonly task: Task }
  | {
      readonly kind: "failed";
      readonly failure: Failure;
      /** The error as it was thrown, which may have more detail than the failure. It stays in this process. */
      readonly cause?: unknown;
      /** The result of a server without the parts that exceed a limit, for readers that can use a part of it. */
      readonly partial?: JsonObject;
      /** How long the text of a long response was, where it came over a wire. */
      readonly size?: number;
    };

/**
 * The one shape everything in this package has: a call goes in, one outcome
 * comes out.
 *
 * A server is a service. A connection to a remote server is a service. A host
 * is a service over many services, and middleware maps a service to a service.
 */
export type Service = <M extends Method>(call: CallOf<M>) => Promise<OutcomeOf<M>>;

/** Wraps a service: the service that it returns receives every call, and returns an outcome of the call's method. */
export type Middleware = (next: Service) => (call: Call) => Promise<Outcome>;

/**
 * Puts middleware around a service, and around each of its views. The first is the outermost. All other members of the
 * service are kept: the store, `close` and the types of a server.
 */
export function withMiddleware<S extends Service>(service: S, ...middleware: readonly Middleware[]): S {
  const around = (inner: Service): Service =>
    middleware.reduceRight<Service>((next, wrap) => wrap(next) as Service, inner);
  const { [observed]: known } = service as ObservedService;
  const inner = around(known?.inner ?? service);
  const wrapped = inPlaceOf(service, known?.observe(inner) ?? inner);
  if (known !== undefined) Object.assign(wrapped, { [observed]: { ...known, inner } });
  const views = viewsOf(service)?.around((view) => withMiddleware(view, ...middleware));
  return views === undefined ? wrapped : Object.assign(wrapped, { views });
}

/**
 * The views of a service: parts of it that are services of their own. Over HTTP each is served at a path below that of
 * the whole, by its name.
 */
export interface ServiceViews {
  has(name: string): boolean;
  /** The same service for each name. Throws `invalid-params` when there is no view of that name. */
  get(name: string): Service;
  names(): readonly string[];
  /** The same views, with something around each. */
  around(wrap: (view: Service) => Service): ServiceViews;
}

/** The views of a service, where it has any. */
export function viewsOf(service: Service): ServiceViews | undefined {
  return (service as { readonly views?: ServiceViews }).views;
}

/** Leads from a service that something observes to how: middleware that is put around it is observed, too. */
export const observed: unique symbol = Symbol("observed");

/** A service of which something hears every call. */
export interface ObservedService {
  readonly [observed]?: {
    /** The service as nothing hears of it. */
    readonly inner: Service;
    observe(inner: Service): Service;
  };
}

/** Leads from a service to what it is without middleware. */
export const bare: unique symbol = Symbol("bare");

/** A service that calls `serve`, and has all that another service has besides. */
export function inPlaceOf<S extends Service>(service: S, serve: Service): S {
  const members = Object.entries(Object.getOwnPropertyDescriptors(service)).filter(([, { enumerable }]) => enumerable);
  const answer: Service = (call) => serve(call);
  return Object.defineProperties(answer, { ...Object.fromEntries(members), [bare]: { value: bareOf(service) } }) as S;
}

/** What a service is without the middleware around it. */
export function bareOf(service: Service & { readonly [bare]?: Service }): Service {
  return service[bare] ?? service;
}

/** A service that is loaded with its first call. */
export function lazyService(load: () => Promise<Service>): Service {
  const service: Lazy<Service> = lazy(load);
  const answer: Service = (call) =>
    service.loaded === undefined ? service.load().then((it) => it(call)) : service.loaded(call);
  return answer;
}

/** Where a call comes from. */
export interface CallOrigin {
  readonly peer: ClientInfo;
  readonly http?: HttpRequestInfo | undefined;
}

/** The parts of a call that its transport provides. */
export interface CallSource<M extends Method = Method> extends CallOrigin {
  readonly method: M;
  readonly params: Params<M>;
  readonly abort: LazyAbort;
  readonly notify: Notify;
  readonly meta?: JsonObject | undefined;
  readonly wantsProgress?: boolean;
  readonly logLevel?: LogLevel | undefined;
  readonly answers?: Readonly<Record<string, unknown>> | undefined;
  readonly state?: string | undefined;
  readonly ask?: Ask | undefined;
  readonly platform?: (() => unknown) | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly closeStream?: CloseStream | undefined;
  readonly tasks?: TaskTerms | undefined;
  readonly maxBytes?: number | undefined;
  readonly rpcId?: string | number | undefined;
  readonly onSent?: ((rpcId: string | number) => void) | undefined;
}

const noMeta: JsonObject = {};

/** Every call is one of these. Its parts are its own, so that a copy by spreading has them all. */
class ServiceCall<M extends Method> implements CallOf<M> {
  readonly method: M;
  readonly params: Params<M>;
  readonly peer: ClientInfo;
  readonly meta: JsonObject;
  readonly wantsProgress: boolean;
  readonly logLevel: LogLevel | undefined;
  readonly answers: Readonly<Record<string, unknown>> | undefined;
  readonly state: string | undefined;
  readonly notify: Notify;
  readonly ask: Ask | undefined;
  readonly http: HttpRequestInfo | undefined;
  readonly platform: (() => unknown) | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly closeStream: CloseStream | undefined;
  readonly tasks: TaskTerms | undefined;
  readonly maxBytes: number | undefined;
  readonly rpcId: string | number | undefined;
  readonly onSent: ((rpcId: string | number) => void) | undefined;
  readonly abort: LazyAbort;

  constructor(source: CallSource<M>) {
    this.method = source.method;
    this.params = source.params;
    this.peer = source.peer;
    this.meta = source.meta ?? noMeta;
    this.wantsProgress = source.wantsProgress ?? false;
    this.logLevel = source.logLevel;
    this.answers = source.answers;
    this.state = source.state;
    this.notify = source.notify;
    this.ask = source.ask;
    this.http = source.http;
    this.platform = source.platform;
    this.headers = source.headers;
    this.closeStream = source.closeStream;
    this.tasks = source.tasks;
    this.maxBytes = source.maxBytes;
    this.rpcId = source.rpcId;
    this.onSent = source.onSent;
    this.abort = source.abort;
  }

  get signal(): AbortSignal {
    return this.abort.signal;
  }
}

/** Creates a call whose signal is created only when it is read. */
export function createCall<M extends Method>(source: CallSource<M>): CallOf<M> {
  return new ServiceCall(source);
}

/** What {@link withCall} can change. */
export type CallChanges<M extends Method> = Partial<Omit<CallOf<M>, "signal" | "method">>;

/** A copy of a call with some parts changed. It ends when the original does. */
export function withCall<M extends Method>(call: CallOf<M>, changes: CallChanges<M>): CallOf<M> {
  return new ServiceCall({ ...call, ...changes, abort: abortOf(call) });
}

/** A call of another method for the same caller. It is aborted with the original, and its progress is dropped. */
export function withMethod<M extends Method>(
  call: CallOf,
  { method, params, peer, tasks }: Pick<CallOf<M>, "method" | "params" | "peer" | "tasks">,
): CallOf<M> {
  return new ServiceCall({ method, params, peer, tasks, abort: abortOf(call), notify: () => undefined });
}

/** Runs `listener` when the call is aborted, at once if it was. Returns how to stop listening. */
export function onAbort(call: CallOf, listener: () => void): () => void {
  return abortOf(call).onAbort(listener);
}

/** Why the call was aborted, or undefined while it was not. */
export function abortReason(call: CallOf): unknown {
  const abort = abortOf(call);
  return abort.aborted ? abort.reason : undefined;
}

/** The signal of a call, also of one that was copied by spreading and so lost the getter. */
export function signalOf(call: CallOf): AbortSignal {
  return call.signal ?? abortOf(call).signal;
}

/** The id of a call, unique and hard to guess. Copies of a call have the same. Made when it is first asked for. */
export function requestIdOf(call: CallOf & { readonly abort?: LazyAbort }): string {
  const key = (call.abort ?? call) as { [requestId]?: string };
  key[requestId] ??= createRequestId();
  return key[requestId];
}

/** Says which task a call of a handler works for. */
export function setTaskId(call: CallOf & { readonly abort?: LazyAbort }, id: string): void {
  taskIds.set(call.abort ?? call, id);
}

/** The task that a call of a handler works for, if it does for one by now. */
export function taskIdOf(call: CallOf & { readonly abort?: LazyAbort }): string | undefined {
  return taskIds.get(call.abort ?? call);
}

const taskIds = new WeakMap<object, string>();

/** What a call shares with all its copies leads to its id. */
/** A member, and not a map: a map of what is forgotten at once costs more than all the rest of an event. */
const requestId: unique symbol = Symbol("request id");

/** An id for what belongs to no call, or to one that is not known. */
export function createRequestId(): string {
  if (spareAt === spareIds.length) {
    spareIds = toBase64Url(crypto.getRandomValues(new Uint8Array(9 * 128)));
    spareAt = 0;
  }
  spareAt += 12;
  return spareIds.slice(spareAt - 12, spareAt);
}

/** Generated in batches: getting random bytes is slower than using them. */
let spareIds = "";
let spareAt = 0;

/** A call that was created without `createCall` has only its signal. */
function abortOf(call: CallOf & { readonly abort?: LazyAbort }): LazyAbort {
  if (call.abort !== undefined) return call.abort;
  const abort = new LazyAbort();
  const { signal } = call;
  if (signal.aborted) abort.abort(signal.reason);
  else signal.addEventListener("abort", () => abort.abort(signal.reason), { once: true });
  return abort;
}
