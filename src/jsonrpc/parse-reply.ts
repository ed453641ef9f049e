import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { findExceededLimit } from "../json/parse.ts";
import { type JsonLimits, measureJson, replyJsonLimits } from "../json/shape.ts";
import { toStub } from "../json/stub.ts";
import { type Failure, isId, type Malformed, type Parsed, parseText, type Response, rpcCodes } from "./message.ts";

/**
 * Like {@link parseText}, for the side that receives responses. A response that exceeds a limit becomes a failure. Where
 * only elements of its lists exceed it, the failure carries the result with those elements replaced by stubs.
 */
export function parseReply(text: string, limits: JsonLimits = replyJsonLimits): Parsed {
  const parsed = parseText(text, limits);
  const reply = readReply(text, parsed, limits);
  return text.length > longText && isResponse(reply) ? { ...reply, size: text.length } : reply;
}

function readReply(text: string, parsed: Parsed, limits: JsonLimits): Parsed {
  if (parsed.kind !== "malformed" || parsed.error.code !== rpcCodes.parseError) return parsed;
  const { id, error, answerable } = parsed;
  return (
    readPartialFailure(text, parsed, limits) ?? (id === null || answerable ? parsed : { kind: "failure", id, error })
  );
}

/** Characters. The size of shorter texts is not recorded: the number of pages of a list bounds their total. */
const longText = 4_096;

function isResponse(parsed: Parsed): parsed is Response {
  return parsed.kind === "success" || parsed.kind === "failure";
}

/** A text with up to this multiple of `maxJsonNodes` is parsed to salvage the parts of it that fit. */
const SALVAGE_FACTOR = 4;

/** The failure for a response that is valid JSON but exceeds a limit. */
function readPartialFailure(text: string, { error }: Malformed, limits: JsonLimits): Failure | undefined {
  const maxNodes = SALVAGE_FACTOR * limits.maxJsonNodes;
  if (maxNodes > 0 && measureJson(text, { maxJsonDepth: 0, maxJsonNodes: maxNodes }).nodes > maxNodes) return undefined;
  const { id, method, result } = parseObject(text);
  return isId(id) && typeof method !== "string" ? failureOf(id, error, result, limits) : undefined;
}

function parseObject(text: string): JsonObject {
  try {
    const value: Json = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

function failureOf(id: Failure["id"], error: Failure["error"], result: Json | undefined, limits: JsonLimits): Failure {
  const partial = isObject(result) ? withStubs(result, limits) : undefined;
  const fits = partial !== undefined && findExceededLimit([partial], limits) === undefined;
  return { kind: "failure", id, error, ...(fits && { partial }) };
}

/** A copy of a result in which each list element that exceeds a limit is replaced by a stub. */
function withStubs(result: JsonObject, limits: JsonLimits): JsonObject {
  const stubOversized = (element: Json): Json => {
    // Three levels deep, as in the message: element of a list, in the result, in the message.
    const exceeded = findExceededLimit([[[element]]], limits);
    return exceeded === undefined ? element : toStub(element, exceeded);
  };
  const members = Object.entries(result);
  return Object.fromEntries(
    members.map(([name, member]) => [name, Array.isArray(member) ? member.map(stubOversized) : member]),
  );
}
