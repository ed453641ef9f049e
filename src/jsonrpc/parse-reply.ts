import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { defaultJsonLimits, excessOf, type JsonLimits } from "../json/parse.ts";
import { stubOf } from "../json/stub.ts";
import { type Failure, type Malformed, type Parsed, parseText, rpcCodes } from "./message.ts";

/**
 * Like {@link parseText}, for whoever waits for responses. One that breaks a limit is a failure; where only elements
 * of its lists break it, the failure has the rest of the result.
 */
export function parseReply(text: string, limits: JsonLimits = defaultJsonLimits): Parsed {
  const parsed = parseText(text, limits);
  return isExcessive(parsed) ? failureOf(parsed, JSON.parse(text) as JsonObject, limits) : parsed;
}

/** True for a response that only breaks a limit: of a text that is no JSON nobody knows the id. */
function isExcessive(parsed: Parsed): parsed is Malformed {
  if (parsed.kind !== "malformed" || parsed.answerable) return false;
  return parsed.id !== null && parsed.error.code === rpcCodes.parseError;
}

function failureOf({ id, error }: Malformed, { result }: JsonObject, limits: JsonLimits): Failure {
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
