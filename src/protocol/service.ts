import type { JsonObject } from "../json/json.ts";
import type { HttpRequestInfo } from "../std/http-facts.ts";
import { LazyAbort } from "../std/lazy-abort.ts";
import type { Failure } from "./errors.ts";
import type { Question, QuestionAnswer } from "./input.ts";
import type { LogLevel } from "./logging.ts";
import type { Method, Params, Result } from "./methods.ts";
import type { ClientInfo } from "./peer.ts";
import type { Task, TaskTerms } from "./task.ts";

/** Sends a notification that belongs to a call. A promise means that the reader is slow. */
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
  /** True when the caller wants to hear of progress. */
  readonly wantsProgress: boolean;
  /** The least severe log message the caller wants; absent means none. */
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
  /** Headers that the caller wants sent with the call, where it goes out over HTTP. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Ends the connection the caller waits on; it comes back for the rest. Absent where it could not. */
  readonly closeStream: CloseStream | undefined;
  /** Absent where the caller could not follow a task. */
  readonly tasks: TaskTerms | undefined;
}

/** How a call ended. A union over the methods, like {@link Call}. */
export type Outcome<M extends Method = Method> = { [K in M]: OutcomeOf<K> }[M];

/** How a call ended whose method is a type parameter. */
export type OutcomeOf<M extends Method = Method> =
  | { readonly kind: "complete"; readonly result: Result<M> }
  | {
      readonly kind: "input-required";
      readonly questions: Readonly<Record<string, Question>>;
      readonly state?: string;
    }
  | { readonly kind: "task"; readonly task: Task }
  | {
      readonly kind: "failed";
      readonly failure: Failure;
      /** The result of a server without what breaks a limit, for those who can do with a part of it. */
      readonly partial?: JsonObject;
    };

/**
 * The one shape everything in this package has: a call goes in, one outcome
 * comes out.
 *
 * A server is a service. A connection to a remote server is a service. A host
 * is a service over many services, and middleware maps a service to a service.
 */
export type Service = <M extends Method>(call: CallOf<M>) => Promise<OutcomeOf<M>>;

/** Wraps a service, onion-style: what it returns takes every call, and gives an outcome of the call's method. */
export type Middleware = (next: Service) => (call: Call) => Promise<Outcome>;

/**
 * Puts middleware around a service. The first is the outermost. All that the
 * service has besides stays: the store, `close` and the types of a server.
 */
export function withMiddleware<S extends Service>(service: S, ...middleware: readonly Middleware[]): S {
  return inPlaceOf(
    service,
    middleware.reduceRight<Service>((next, wrap) => wrap(next) as Service, service),
  );
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
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly closeStream?: CloseStream | undefined;
  readonly tasks?: TaskTerms | undefined;
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
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly closeStream: CloseStream | undefined;
  readonly tasks: TaskTerms | undefined;
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
    this.headers = source.headers;
    this.closeStream = source.closeStream;
    this.tasks = source.tasks;
    this.abort = source.abort;
  }

  get signal(): AbortSignal {
    return this.abort.signal;
  }
}

/** Builds a call whose signal is made only if somebody reads it. */
export function createCall<M extends Method>(source: CallSource<M>): CallOf<M> {
  return new ServiceCall(source);
}

/** What {@link withCall} can change. */
export type CallChanges<M extends Method> = Partial<Omit<CallOf<M>, "signal" | "method">>;

/** A copy of a call with some parts changed. It ends when the original does. */
export function withCall<M extends Method>(call: CallOf<M>, changes: CallChanges<M>): CallOf<M> {
  return new ServiceCall({ ...call, ...changes, abort: abortOf(call) });
}

/** A call of another method, for the same caller. It ends when the original does, and nobody hears of its progress. */
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

/** A call that somebody built by hand has only its signal to go by. */
function abortOf(call: CallOf & { readonly abort?: LazyAbort }): LazyAbort {
  if (call.abort !== undefined) return call.abort;
  const abort = new LazyAbort();
  const { signal } = call;
  if (signal.aborted) abort.abort(signal.reason);
  else signal.addEventListener("abort", () => abort.abort(signal.reason), { once: true });
  return abort;
}
