import type { Client } from "../../client/client.ts";
import { isObject, type Json, type JsonObject } from "../../json/json.ts";
import { changesOf, type JsonChange } from "../../lock/diff-lock.ts";
import { McpError } from "../../protocol/errors.ts";
import type { Recording } from "./recording.ts";
import { redactMessage } from "./redact-message.ts";

/** One request that was sent again. */
export interface Repeated {
  readonly method: string;
  /** The name, URI or other part of the params that tells requests of one method apart. */
  readonly about: string | undefined;
  /** Where the answer differs from the recorded one. Empty when it does not. */
  readonly changes: readonly JsonChange[];
}

export interface Repetition {
  readonly calls: readonly Repeated[];
  /** Requests that cannot be repeated: those that asked something back, and those that have hidden values. */
  readonly skipped: number;
}

/** What a connection does by itself. */
const ofConnection =
  /^(?:initialize|server\/discover|ping|logging\/setLevel|subscriptions\/listen|resources\/(?:un)?subscribe|tasks\/.*)$/;

/** Sends the requests of a recording to another server, one after the other, and compares the answers. */
export async function repeatRecording(
  client: Client,
  { calls, isRedacted }: Recording,
  signal: AbortSignal,
): Promise<Repetition> {
  const repeated: Repeated[] = [];
  let skipped = 0;
  for (const { method, params, response } of calls) {
    if (ofConnection.test(method) || response === undefined) continue;
    if (isUnrepeatable(params, response)) {
      skipped++;
      continue;
    }
    const { _meta, ...own } = params;
    const now = await answerOf(client, { method, params: own, signal });
    const comparable = isRedacted ? asObject(redactMessage(now, (text) => text)) : now;
    const about = [own.name, own.uri, own.ref].find((value) => typeof value === "string");
    const changes = changesOf(comparableOf(response), comparableOf(comparable));
    repeated.push({ method, about: typeof about === "string" ? about : undefined, changes });
  }
  return { calls: repeated, skipped };
}

function asObject(value: Json): JsonObject {
  return isObject(value) ? value : {};
}

function isUnrepeatable(params: JsonObject, { result }: JsonObject): boolean {
  if (params.inputResponses !== undefined || params.requestState !== undefined || params.cursor !== undefined)
    return true;
  if (isObject(result) && (result.resultType === "input_required" || result.resultType === "task")) return true;
  return JSON.stringify(params).includes("[REDACTED]");
}

interface Asked {
  readonly method: string;
  readonly params: JsonObject;
  readonly signal: AbortSignal;
}

async function answerOf(client: Client, { method, params, signal }: Asked): Promise<JsonObject> {
  try {
    return { result: await client.request(method, params, { signal }) };
  } catch (error) {
    if (!(error instanceof McpError) || signal.aborted || isGone(error)) throw error;
    return { error: { message: error.message } };
  }
}

function isGone({ code }: McpError): boolean {
  return ["connection-closed", "unauthorized", "http-error", "cancelled"].includes(code);
}

/** What counts of an answer: not how long it may be kept, and of an error only that it is one. */
function comparableOf({ result, error }: JsonObject): Json {
  if (error !== undefined) return { error: true };
  if (!isObject(result)) return { result: result ?? {} };
  const { _meta, resultType, ttlMs, cacheScope, nextCursor, ...rest } = result;
  return { result: rest };
}
