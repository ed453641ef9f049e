import type { Json, JsonObject } from "../../json/json.ts";
import type { ErrorObject, Id, Request } from "../../jsonrpc/message.ts";
import type { ErrorCode, Failure } from "../errors.ts";
import type { Question, QuestionMethod } from "../input.ts";
import type { LogLevel } from "../logging.ts";
import type { Method, MethodRow, Params, Result } from "../methods.ts";
import type { ClientInfo, Implementation } from "../peer.ts";
import type { Revision } from "../revision.ts";
import type { CallOf, OutcomeOf } from "../service.ts";
import type { DetailedTask, Task, TaskTerms } from "../task.ts";

/** A value, or the failure to answer with. */
export type Decoded<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly failure: Failure };

/** The part of a call that is on the wire. */
export interface WireCall<M extends Method = Method> {
  readonly method: M;
  /** What the protocol says of the method. */
  readonly row: MethodRow;
  readonly params: Params<M>;
  readonly peer: ClientInfo;
  readonly meta: JsonObject;
  /** Echoed with every progress notification, with its JSON type. */
  readonly progressToken: Id | undefined;
  readonly logLevel: LogLevel | undefined;
  readonly answers: Readonly<Record<string, unknown>> | undefined;
  readonly state: string | undefined;
  readonly tasks: TaskTerms | undefined;
}

/** What an outgoing notification belongs to. */
export interface NotificationScope {
  readonly progressToken?: Id | undefined;
  readonly subscriptionId?: Id | undefined;
}

/** A notification in terms of the model. */
export interface DecodedNotification {
  readonly method: string;
  readonly params: JsonObject;
}

/** What both ends of a connection say. */
interface SharedCodec {
  readonly revision: Revision;
  encodeFailure(failure: Failure): ErrorObject;
  /** Params of a notification as this revision has them, or undefined when it has no such notification. */
  encodeNotification(method: string, params: JsonObject, scope?: NotificationScope): JsonObject | undefined;
  /** What this revision calls a notification that it has. */
  notificationName(method: string): string;
}

/**
 * Translates between one protocol revision and the model, at the server's end.
 *
 * Codecs are pure: no I/O, no clock, no state except a cache of encoded values. Decoding is lenient and keeps unknown
 * members; encoding is strict and leaves out what the revision does not know.
 */
export interface ServerCodec extends SharedCodec {
  decodeCall(request: Request): Decoded<WireCall>;
  /** The response for an outcome. `server` is named in modern results; the call decides the format of the result. */
  encodeOutcome<M extends Method>(
    method: M,
    outcome: OutcomeOf<M>,
    server?: Implementation,
    params?: Params<M>,
  ): Decoded<JsonObject>;
  /** A question as an entry of `inputRequests` (modern), or as params of a request of ours (legacy). */
  encodeQuestion(question: Question): Decoded<JsonObject>;
}

/** Like {@link ServerCodec}, at the client's end. */
export interface ClientCodec extends SharedCodec {
  /** The params of a request. A token asks for progress. */
  encodeCall(call: CallOf, progressToken?: Id): JsonObject;
  /** A successful response. A result of the wrong shape is an `invalid-response`. */
  decodeResult<M extends Method>(method: M, result: JsonObject): OutcomeOf<M>;
  /** The error of a missing resource depends on the method. */
  decodeFailure(error: ErrorObject, method?: string): Failure;
  /**
   * A notification without what only correlates: the progress token, the
   * subscription id. Undefined when it makes no sense.
   */
  decodeNotification(method: string, params: JsonObject): DecodedNotification | undefined;
}

/** A decoding that ends here, with the failure to answer with. */
export interface DecodeFailure {
  readonly ok: false;
  readonly failure: Failure;
}

export function refuse(code: ErrorCode, message: string, data?: Json): DecodeFailure {
  return { ok: false, failure: data === undefined ? { code, message } : { code, message, data } };
}

// Here, and only here, JSON off the wire is declared to have a type of the
// model. The compiler cannot follow a table that is indexed by a method name,
// so each function names the check that must have run before.

/** A method name. Any string is one: a service answers what it does not know with `method-not-found`. */
export function asMethod(method: string): Method {
  return method as Method;
}

/** Params that `paramsProblem` found nothing wrong with. */
export function asParams<M extends Method>(params: JsonObject): Params<M> {
  return params as unknown as Params<M>;
}

/** A result that `resultProblem` found nothing wrong with. */
export function asResult<M extends Method>(result: JsonObject): Result<M> {
  return result as unknown as Result<M>;
}

/** A question whose params `decodeQuestion` found nothing wrong with. */
export function asQuestion(method: QuestionMethod, params: JsonObject): Question {
  return { method, params } as unknown as Question;
}

/** A task that `aTask` found nothing wrong with. */
export function asTask(task: JsonObject): Task {
  return task as unknown as Task;
}

/** A task that `readDetails` has put together. */
export function asDetails(task: JsonObject): DetailedTask {
  return task as unknown as DetailedTask;
}

/** The failure of a task of ours. */
export function asFailure(failure: JsonObject): Failure {
  return failure as unknown as Failure;
}

/** An error that is an object with a code and a message. */
export function asErrorObject(error: Json | undefined): ErrorObject {
  return error as unknown as ErrorObject;
}
