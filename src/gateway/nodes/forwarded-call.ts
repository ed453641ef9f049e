import { asJson, type Json, type JsonObject } from "../../json/json.ts";
import type { Question, QuestionAnswer } from "../../protocol/input.ts";
import type { Method, Params } from "../../protocol/methods.ts";
import type { ClientInfo } from "../../protocol/peer.ts";
import { type CallOf, createCall, type Notify } from "../../protocol/service.ts";
import type { HttpRequestInfo } from "../../std/http-request-info.ts";
import type { LazyAbort } from "../../std/lazy-abort.ts";

/** A call as it goes to another process of the gateway: what does not reach there as JSON is asked for by messages. */
export interface ForwardedCall {
  readonly method: string;
  readonly params: JsonObject;
  readonly peer: JsonObject;
  readonly meta: JsonObject;
  readonly rest: JsonObject;
  /** The address of the caller, where it came over HTTP. */
  readonly http?: { readonly remoteAddress?: string };
  /** True where the caller can be asked while it waits. */
  readonly canAsk: boolean;
}

/** What a call can do with its caller from another process. */
interface CallerReach {
  readonly abort: LazyAbort;
  readonly notify: Notify;
  ask(question: Question): Promise<QuestionAnswer>;
}

export function encodeCall({ method, params, peer, meta, http, ask, ...call }: CallOf): ForwardedCall {
  const { wantsProgress, logLevel, answers, state, tasks, maxBytes } = call;
  return {
    method,
    params: asJson(params),
    peer: plain(peer),
    meta,
    rest: plain({ wantsProgress, logLevel, answers, state, tasks, maxBytes }),
    ...(http && { http: http.remoteAddress === undefined ? {} : { remoteAddress: http.remoteAddress } }),
    canAsk: ask !== undefined,
  };
}

export function decodeCall(
  { method, params, peer, meta, rest, http, canAsk }: ForwardedCall,
  reach: CallerReach,
): CallOf {
  const { abort, notify, ask } = reach;
  return createCall({
    ...rest,
    method: method as Method,
    params: params as unknown as Params<Method>,
    peer: peer as unknown as ClientInfo,
    meta,
    abort,
    notify,
    ask: canAsk ? ask : undefined,
    http: http && requestFrom(http.remoteAddress),
  });
}

/** Without members that are undefined, and symbols. */
function plain(value: object): JsonObject {
  return JSON.parse(JSON.stringify(value)) as Json as JsonObject;
}

/** Of the request only its sender is known here. */
function requestFrom(remoteAddress: string | undefined): HttpRequestInfo {
  return { method: "POST", url: "/", header: () => undefined, remoteAddress };
}
