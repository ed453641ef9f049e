import { isObject, type Json } from "../json/json.ts";
import { McpError } from "../model/errors.ts";
import type { CreateMessageResult, ElicitResult, ListRootsResult } from "../model/input.ts";

export function readElicit(answer: unknown, key: string): ElicitResult {
  if (!isObject(answer)) throw malformed(key, "it must be an object");
  const { action, content } = answer;
  if (action !== "accept" && action !== "decline" && action !== "cancel") {
    throw malformed(key, '"action" must be accept, decline or cancel');
  }
  if (action !== "accept") return { action };
  if (content !== undefined && !isObject(content)) throw malformed(key, '"content" must be an object');
  return { action, ...(content !== undefined && { content }) };
}

export function readSample(answer: unknown, key: string): CreateMessageResult {
  if (!isObject(answer)) throw malformed(key, "it must be an object");
  if (!isObject(answer.content) && !Array.isArray(answer.content)) throw malformed(key, '"content" is missing');
  if (typeof answer.role !== "string") throw malformed(key, '"role" must be a string');
  if (typeof answer.model !== "string") throw malformed(key, '"model" must be a string');
  return answer as unknown as CreateMessageResult;
}

export function readRoots(answer: unknown, key: string): ListRootsResult {
  if (!isObject(answer) || !Array.isArray(answer.roots)) throw malformed(key, '"roots" must be an array');
  if (!answer.roots.every((root) => isObject(root) && typeof root.uri === "string")) {
    throw malformed(key, 'each of "roots" must have a uri');
  }
  return answer as unknown as ListRootsResult;
}

export function malformed(key: string, problem: string, data?: Json): McpError {
  const message = `the answer to ${key} is malformed: ${problem}`;
  return new McpError("invalid-params", message, { data: data ?? { key } });
}
