// Loaded here, so that nothing in a test waits for it by chance.
import "../../src/server/lazy-parts.ts";
import "../../src/server/listening.ts";
import type { JsonObject } from "../../src/json/json.ts";
import type { Failure } from "../../src/protocol/errors.ts";
import type { Question } from "../../src/protocol/input.ts";
import type { Method, Params, Result } from "../../src/protocol/methods.ts";
import type { ClientCapabilities, ClientInfo } from "../../src/protocol/peer.ts";
import {
  type CallOf,
  type CallSource,
  createCall,
  type Outcome,
  type OutcomeOf,
  type Service,
} from "../../src/protocol/service.ts";
import type { CallToolResult } from "../../src/protocol/tool.ts";
import type { ErrorHook, ErrorSource } from "../../src/server/error-reporter.ts";
import { LazyAbort } from "../../src/std/lazy-abort.ts";

/** A client that can do everything. */
export const able: ClientCapabilities = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };

export const peer = (capabilities: ClientCapabilities = able): ClientInfo => ({ revision: "2026-07-28", capabilities });

/** What the server said while the call was open. */
export type Note = readonly [method: string, params: JsonObject];

/** A call, with the means to watch and abort it. */
export interface Made<M extends Method> {
  readonly call: CallOf<M>;
  readonly abort: LazyAbort;
  readonly notes: readonly Note[];
}

/** Parts of a call that a test cares about. */
export type Parts<M extends Method> = Partial<Omit<CallSource<M>, "method" | "params">>;

/** A call as no transport could make it simpler. */
export function makeCall<M extends Method>(method: M, params: Params<M>, parts: Parts<M> = {}): Made<M> {
  const abort = parts.abort ?? new LazyAbort();
  const notes: Note[] = [];
  const notify = (name: string, content: JsonObject): undefined => void notes.push([name, content]);
  return { call: createCall({ method, params, peer: peer(), notify, ...parts, abort }), abort, notes };
}

export function send<M extends Method>(
  server: Service,
  method: M,
  params: Params<M>,
  parts?: Parts<M>,
): Promise<OutcomeOf<M>> {
  return server(makeCall(method, params, parts).call);
}

/** A method that is not in the types. */
export function sendAny(server: Service, method: string, params: JsonObject = {}): Promise<Outcome> {
  return send(server, method as Method, params as never);
}

/** The result of a call that completes. */
export async function complete<M extends Method>(
  server: Service,
  method: M,
  params: Params<M>,
  parts?: Parts<M>,
): Promise<Result<M>> {
  return resultOf(await send(server, method, params, parts));
}

export function resultOf<M extends Method>(outcome: OutcomeOf<M>): Result<M> {
  if (outcome.kind === "complete") return outcome.result;
  throw new Error(`not complete: ${JSON.stringify(outcome)}`);
}

export function failureOf(outcome: Outcome): Failure {
  if (outcome.kind === "failed") return outcome.failure;
  throw new Error(`not failed: ${JSON.stringify(outcome)}`);
}

export async function callTool(
  server: Service,
  name: string,
  input?: JsonObject,
  parts?: Parts<"tools/call">,
): Promise<CallToolResult> {
  return complete(server, "tools/call", input === undefined ? { name } : { name, arguments: input }, parts);
}

/** Questions with the state they came with. */
export interface Asked {
  readonly questions: Readonly<Record<string, Question>>;
  readonly state: string;
}

export function askedBy(outcome: Outcome): Asked {
  if (outcome.kind === "input-required" && outcome.state !== undefined) return { ...outcome, state: outcome.state };
  throw new Error(`asks nothing: ${JSON.stringify(outcome)}`);
}

/** Hears internal errors. */
export function faultLog(): { readonly faults: (readonly [unknown, ErrorSource])[]; readonly onError: ErrorHook } {
  const faults: (readonly [unknown, ErrorSource])[] = [];
  return { faults, onError: (error, place) => void faults.push([error, place]) };
}
