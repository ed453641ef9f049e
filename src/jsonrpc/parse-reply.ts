import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { excessOf } from "../json/parse.ts";
import { type JsonLimits, measureJson, replyJsonLimits } from "../json/shape.ts";
import { stubOf } from "../json/stub.ts";
import { type Failure, isId, type Malformed, type Parsed, parseText, type Response, rpcCodes } from "./message.ts";

/**
 * Like {@link parseText}, for whoever waits for responses. One that breaks a limit is a failure; where only elements
 * of its lists break it, the failure has the rest of the result.
 */
export function parseReply(text: string, limits: JsonLimits = replyJsonLimits): Parsed {
  const parsed = parseText(text, limits);
  const reply = readReply(text, parsed, limits);
  return text.length > longText && isResponse(reply) ? { ...reply, size: text.length } : reply;
}

function readReply(text: string, parsed: Parsed, limits: JsonLimits): Parsed {
  if (parsed.kind !== "malformed" || parsed.error.code !== rpcCodes.parseError) return parsed;
  const { id, error, answerable } = parsed;
  return salvage(text, parsed, limits) ?? (id === null || answerable ? parsed : { kind: "failure", id, error });
}

/** Shorter texts are not worth counting: a list has so many pages at most. */
const longText = 4_096;

function isResponse(parsed: Parsed): parsed is Response {
  return parsed.kind === "success" || parsed.kind === "failure";
}

/** So many times the values that are allowed may be looked at for those that can be kept. */
const SALVAGED = 4;

/** The failure of a response that is JSON and only breaks a limit. */
function salvage(text: string, { error }: Malformed, limits: JsonLimits): Failure | undefined {
  const most = SALVAGED * limits.maxJsonNodes;
  if (most > 0 && measureJson(text, { maxJsonDepth: 0, maxJsonNodes: most }).nodes > most) return undefined;
  const { id, method, result } = objectIn(text);
  return isId(id) && typeof method !== "string" ? failureOf(id, error, result, limits) : undefined;
}

function objectIn(text: string): JsonObject {
  try {
    const value: Json = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

function failureOf(id: Failure["id"], error: Failure["error"], result: Json | undefined, limits: JsonLimits): Failure {
  const partial = isObject(result) ? withStubs(result, limits) : undefined;
  const fits = partial !== undefined && excessOf([partial], limits) === undefined;
  return { kind: "failure", id, error, ...(fits && { partial }) };
}

/** A result with a stub for each element of its lists that breaks a limit. */
function withStubs(result: JsonObject, limits: JsonLimits): JsonObject {
  const mend = (element: Json): Json => {
    // As deep as it is in the message: in a list of the result.
    const excess = excessOf([[[element]]], limits);
    return excess === undefined ? element : stubOf(element, excess);
  };
  const members = Object.entries(result);
  return Object.fromEntries(members.map(([name, member]) => [name, Array.isArray(member) ? member.map(mend) : member]));
}
