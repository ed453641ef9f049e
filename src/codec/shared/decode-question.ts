import { isObject, type Json, type JsonObject } from "../../json/json.ts";
import type { Question, QuestionMethod } from "../../model/input.ts";
import type { Decoded } from "../codec.ts";
import { aListOf, aNumber, anObject, anything, aString, type Check, oneOf, optional } from "./check.ts";
import { refuse } from "./refuse.ts";
import { toolLayoutProblem } from "./tool-layout.ts";
import { asQuestion } from "./unchecked.ts";

/** Reads a question that a server asks. Its params go on as they came. */
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
