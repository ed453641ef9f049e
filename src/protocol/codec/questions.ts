import {
  aListOf,
  aNumber,
  anObject,
  anything,
  aString,
  type Check,
  oneOf,
  optional,
  type Problem,
} from "../../json/check.ts";
import { isObject, type Json, type JsonObject } from "../../json/json.ts";
import type { Question, QuestionMethod } from "../input.ts";
import type { Decoded } from "./codec.ts";
import { asQuestion, refuse } from "./codec.ts";

/** Decodes a question of a server. Its params are kept unchanged. */
export function decodeQuestion(method: string, params: JsonObject): Decoded<Question> {
  if (!isQuestionMethod(method)) return refuse("method-not-found", `unknown method ${method}`);
  const problem = checks[method](params);
  if (problem !== undefined) return refuse("invalid-params", `params${problem}`);
  return { ok: true, value: asQuestion(method, params) };
}

/** Reads the questions in `inputRequests`, by key. */
export function decodeQuestions(inputRequests: Json | undefined): Decoded<Readonly<Record<string, Question>>> {
  if (!isObject(inputRequests)) return refuse("invalid-response", ".inputRequests must be an object");
  const entries: [string, Question][] = [];
  for (const [key, request] of Object.entries(inputRequests)) {
    const question = decodeInputRequest(request);
    if (!question.ok) return refuse("invalid-response", `.inputRequests.${key}: ${question.failure.message}`);
    entries.push([key, question.value]);
  }
  return { ok: true, value: Object.fromEntries(entries) };
}

function decodeInputRequest(request: Json | undefined): Decoded<Question> {
  if (!isObject(request)) return refuse("invalid-params", "must be an object");
  const { method, params = {} } = request;
  if (typeof method !== "string") return refuse("invalid-params", "method must be a string");
  if (!isObject(params)) return refuse("invalid-params", "params must be an object");
  return decodeQuestion(method, params);
}

function isQuestionMethod(method: string): method is QuestionMethod {
  return Object.hasOwn(checks, method);
}

const aMode = anObject({ mode: optional(oneOf("form", "url")) });
const aForm = anObject({ message: aString, requestedSchema: anObject() });
const aPage = anObject({ message: aString, url: aString });

/** Without a mode it is a form: revision 2025-06-18 had no other. */
const anElicitation: Check = (params) =>
  aMode(params) ?? (isObject(params) && params.mode === "url" ? aPage : aForm)(params);

const aToolUse = anObject({ id: aString, name: aString, input: anObject() });
const aToolResult = anObject({ toolUseId: aString, content: aListOf(anObject({ type: aString })) });
const otherBlock = anObject({ type: aString });

const aBlock: Check = (block) => {
  if (!isObject(block)) return otherBlock(block);
  if (block.type === "tool_use") return aToolUse(block);
  return block.type === "tool_result" ? aToolResult(block) : otherBlock(block);
};

const blocks = aListOf(aBlock);
const oneOrMoreBlocks: Check = (content) => (Array.isArray(content) ? blocks : aBlock)(content);

const aSampling = anObject({
  messages: aListOf(anObject({ role: oneOf("user", "assistant"), content: oneOrMoreBlocks })),
  maxTokens: aNumber,
  tools: optional(aListOf(anObject({ name: aString }))),
  toolChoice: optional(anObject()),
});

const checks: { readonly [Q in QuestionMethod]: Check } = {
  "elicitation/create": anElicitation,
  "sampling/createMessage": (params) => aSampling(params) ?? toolLayoutProblem(params),
  "roots/list": anything,
};

/**
 * Whether the tool uses in a conversation are followed by their results.
 *
 * A message with a tool result contains nothing but tool results, and they answer exactly the tool uses of the message
 * before it.
 */
const toolLayoutProblem: Check = (params) => {
  const messages = isObject(params) ? listOf(params.messages) : [];
  for (const [index, message] of messages.entries()) {
    const problem = mixedProblem(message) ?? pairingProblem(message, messages[index - 1]);
    if (problem !== undefined) return `.messages[${index}]${problem}`;
  }
  return danglingProblem(messages);
};

function mixedProblem(message: JsonObject): Problem {
  const blocks = blocksOf(message);
  const results = blocks.filter(({ type }) => type === "tool_result").length;
  if (results === 0) return undefined;
  if (message.role !== "user") return " must be of the user to hold tool results";
  return results < blocks.length ? " mixes tool results with other content" : undefined;
}

function pairingProblem(message: JsonObject, before: JsonObject | undefined): Problem {
  const asked = before === undefined ? noIds : idsOf(before, "tool_use", "id");
  const answered = idsOf(message, "tool_result", "toolUseId");
  const missing = firstOutside(asked, answered);
  if (missing !== undefined) return ` does not answer the tool call ${missing}`;
  const extra = firstOutside(answered, asked);
  return extra === undefined ? undefined : ` answers ${extra}, which the message before did not call`;
}

function danglingProblem(messages: readonly JsonObject[]): Problem {
  const last = messages.at(-1);
  const id = last === undefined ? undefined : firstOutside(idsOf(last, "tool_use", "id"), noIds);
  return id === undefined ? undefined : `.messages ends before the tool call ${id} is answered`;
}

type Ids = ReadonlySet<string>;

const noIds: Ids = new Set();

function idsOf(message: JsonObject, type: string, member: string): Ids {
  const ids = blocksOf(message).map((block) => (block.type === type ? block[member] : undefined));
  return new Set(ids.filter((id) => typeof id === "string"));
}

function firstOutside(ids: Ids, others: Ids): string | undefined {
  for (const id of ids) if (!others.has(id)) return id;
  return undefined;
}

function blocksOf({ content }: JsonObject): readonly JsonObject[] {
  return isObject(content) ? [content] : listOf(content);
}

function listOf(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
