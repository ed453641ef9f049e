import type { JsonObject } from "../json/json.ts";
import type { HttpFacts } from "../std/http-facts.ts";
import { LazyAbort } from "../std/lazy-abort.ts";
import type { Failure } from "./errors.ts";
import type { Answer, Question } from "./input.ts";
import type { LogLevel } from "./logging.ts";
import type { Method, Params, Result } from "./methods.ts";
import type { Peer } from "./peer.ts";
import type { Task, TaskTerms } from "./task.ts";

/** Sends a notification that belongs to a call. A promise means that the reader is slow. */
export type Notify = (method: string, params: JsonObject) => Promise<void> | undefined;

/** Puts a question to the client and waits. Rejects when no answer can come. */
export type Ask = (question: Question) => Promise<Answer>;

/** Ends a connection that the caller is to open again after `retryMs`. */
export type HangUp = (retryMs?: number) => void;

/**
 * One request on its way to a {@link Service}. Immutable: to change one, pass on
 * {@link withCall}.
 */
export interface Call<M extends Method = Method> {
  readonly method: M;
  readonly params: Params<M>;
  readonly peer: Peer;
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
  readonly http: HttpFacts | undefined;
  /** Ends the connection the caller waits on; it comes back for the rest. Absent where it could not. */
  readonly hangUp: HangUp | undefined;
  /** Absent where the caller could not follow a task. */
  readonly tasks: TaskTerms | undefined;
}

/** How a call ended. */
export type Outcome<M extends Method = Method> =
  | { readonly kind: "complete"; readonly result: Result<M> }
  | {
      readonly kind: "input-required";
      readonly questions: Readonly<Record<string, Question>>;
      readonly state?: string;
    }
  | { readonly kind: "task"; readonly task: Task }
  | { readonly kind: "failed"; readonly failure: Failure };

/**
 * The one shape everything in this package has: a call goes in, one outcome
 * comes out.
 *
 * A server is a service. A connection to a remote server is a service. A host
 * is a service over many services, and middleware maps a service to a service.
 */
export type Service = <M extends Method>(call: Call<M>) => Promise<Outcome<M>>;

/** Wraps a service, onion-style. */
export type Middleware = (next: Service) => Service;

/** Puts middleware around a service. The first is the outermost. */
export function compose(service: Service, ...middleware: readonly Middleware[]): Service {
  return middleware.reduceRight((next, wrap) => wrap(next), service);
}

/** The parts of a call that its transport provides. */
export interface CallSource<M extends Method = Method> {
  readonly method: M;
  readonly params: Params<M>;
  readonly peer: Peer;
  readonly abort: LazyAbort;
  readonly notify: Notify;
  readonly meta?: JsonObject | undefined;
  readonly wantsProgress?: boolean;
  readonly logLevel?: LogLevel | undefined;
  readonly answers?: Readonly<Record<string, unknown>> | undefined;
  readonly state?: string | undefined;
  readonly ask?: Ask | undefined;
  readonly http?: HttpFacts | undefined;
  readonly hangUp?: HangUp | undefined;
  readonly tasks?: TaskTerms | undefined;
}

const noMeta: JsonObject = {};

class LiveCall<M extends Method> implements Call<M> {
  readonly method: M;
  readonly params: Params<M>;
  readonly peer: Peer;
  readonly meta: JsonObject;
  readonly wantsProgress: boolean;
  readonly logLevel: LogLevel | undefined;
  readonly answers: Readonly<Record<string, unknown>> | undefined;
  readonly state: string | undefined;
  readonly notify: Notify;
  readonly ask: Ask | undefined;
  readonly http: HttpFacts | undefined;
  readonly hangUp: HangUp | undefined;
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
    this.hangUp = source.hangUp;
    this.tasks = source.tasks;
    this.abort = source.abort;
  }

  get signal(): AbortSignal {
    return this.abort.signal;
  }
}

/** Builds a call whose signal is made only if somebody reads it. */
export function createCall<M extends Method>(source: CallSource<M>): Call<M> {
  return new LiveCall(source);
}

/** What {@link withCall} can change. */
export type CallChanges<M extends Method> = Partial<Omit<Call<M>, "signal" | "method">>;

/** A copy of a call with some parts changed. It ends when the original does. */
export function withCall<M extends Method>(call: Call<M>, changes: CallChanges<M>): Call<M> {
  return new LiveCall({ ...call, ...changes, abort: abortOf(call) });
}

/** Runs `listener` when the call is aborted, at once if it was. Returns how to stop listening. */
export function onAbort(call: Call, listener: () => void): () => void {
  return abortOf(call).onAbort(listener);
}

/** Why the call was aborted, or undefined while it was not. */
export function abortReason(call: Call): unknown {
  const abort = abortOf(call);
  return abort.aborted ? abort.reason : undefined;
}

/** The signal of a call, also of one that was copied by spreading and so lost the getter. */
export function signalOf(call: Call): AbortSignal {
  return call.signal ?? abortOf(call).signal;
}

/** A call that somebody built by hand has only its signal to go by. */
function abortOf(call: Call & { readonly abort?: LazyAbort }): LazyAbort {
  if (call.abort !== undefined) return call.abort;
  const abort = new LazyAbort();
  const { signal } = call;
  if (signal.aborted) abort.abort(signal.reason);
  else signal.addEventListener("abort", () => abort.abort(signal.reason), { once: true });
  return abort;
}
