import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { parseJson } from "../json/parse.ts";
import { McpError } from "../protocol/errors.ts";
import type {
  CreateMessageResult,
  SamplingContent,
  SamplingMessage,
  ToolResultContent,
  ToolUseContent,
} from "../protocol/input.ts";
import type { Issue, Validator } from "../schema/validator.ts";
import { type NameRule, toAlias } from "./alias.ts";
import type { NamedResult, ToolCall } from "./bridge.ts";
import type { Offer, Offers } from "./offers.ts";

/** A call as a provider has it. */
export interface RawCall {
  readonly id: string;
  readonly alias: string;
  /** An object, or a JSON text of one. */
  readonly input: unknown;
  /** What the provider itself found wrong. */
  readonly problem?: string;
}

/**
 * Reads one call of the model: finds its tool, converts its arguments to the form of the tool's input schema and
 * validates them, unless `validate` is false. A schema whose patterns could take too long to match is not validated
 * here; the server validates, too.
 */
export async function readCall<P>(raw: RawCall, offers: Offers<P>, validate: boolean): Promise<ToolCall> {
  const call = decodeCall(raw, offers);
  const offer = offers.find(raw.alias);
  if (call.problem !== undefined || offer === undefined || !validate) return call;
  const issues = await issuesOf(call.input, offer.validator);
  if (issues.length === 0) return call;
  const { id, name } = call;
  const other = otherInput(raw, offer);
  if (other !== undefined && (await issuesOf(other, offer.validator)).length === 0) return { id, name, input: other };
  return { id, name, problem: `invalid arguments for ${raw.alias}: ${issueText(issues)}` };
}

/** The same without a check. */
function decodeCall<P>(raw: RawCall, offers: Offers<P>): ToolCall {
  const { id, alias } = raw;
  const offer = offers.find(alias);
  if (offer === undefined) return { id, name: offers.nameOf(alias) ?? alias, problem: `unknown tool ${alias}` };
  const input = raw.problem === undefined ? readInput(raw.input, offer) : raw.problem;
  if (typeof input === "string") return { id, name: offer.name, problem: input };
  return { id, name: offer.name, input: offer.lowered.lift(input) };
}

/** The arguments by another reading, if there is one. */
function otherInput<P>({ input }: RawCall, offer: Offer<P>): JsonObject | undefined {
  const given = readInput(input, offer);
  return typeof given === "string" ? undefined : offer.lowered.liftOtherwise?.(given);
}

/** The arguments, or why they are invalid. An empty text means no arguments, and only for a tool without parameters. */
function readInput<P>(input: unknown, { alias, lowered }: Offer<P>): JsonObject | string {
  if (typeof input === "string" && input.trim() === "" && !lowered.hasProperties) return {};
  return parseInput(input, alias);
}

/** An object, or a JSON text of one, as an object. Else what is wrong with it. */
function parseInput(input: unknown, alias: string): JsonObject | string {
  if (typeof input !== "string") return objectOr(input, alias);
  const parsed = parseJson(input);
  return parsed.ok ? objectOr(parsed.value, alias) : `the arguments for ${alias} are ${parsed.reason}`;
}

function objectOr(input: unknown, alias: string): JsonObject | string {
  return isObject(input) ? input : `the arguments for ${alias} must be an object`;
}

async function issuesOf(input: Json, validator: Validator): Promise<readonly Issue[]> {
  if ((await validator.prove?.()) !== undefined) return [];
  const checked = await validator.check(input);
  return checked.ok ? [] : checked.issues;
}

function issueText(issues: readonly Issue[]): string {
  return issues
    .map(({ path, keyword, message }) => `${path === "" ? "" : `${path} `}${message} (${keyword})`)
    .join("; ");
}

/** One message, with its content as a list. */
export interface Turn {
  readonly role: SamplingMessage["role"];
  readonly content: readonly SamplingContent[];
}

export function turnsOf(messages: readonly SamplingMessage[]): readonly Turn[] {
  return messages.map(({ role, content }) => ({ role, content: [content].flat() as readonly SamplingContent[] }));
}

/** Finds the name of the tool whose result it is: the last call before it with that id. */
export function namesOfResults(turns: readonly Turn[]): ReadonlyMap<ToolResultContent, string> {
  const names = new Map<string, string>();
  const found = new Map<ToolResultContent, string>();
  for (const block of turns.flatMap(({ content }) => content)) {
    if (block.type === "tool_use") names.set(block.id, block.name);
    if (block.type === "tool_result")
      found.set(block, givenName(block) ?? names.get(block.toolUseId) ?? block.toolUseId);
  }
  return found;
}

function givenName(block: ToolResultContent & Partial<NamedResult>): string | undefined {
  return typeof block.name === "string" ? block.name : undefined;
}

/** The results of one reply as a turn of their own. */
export function resultTurn(results: readonly NamedResult[]): readonly Turn[] {
  return results.length === 0 ? [] : [{ role: "user", content: results }];
}

/** A call as content, also one of an unknown tool. Throws `invalid-response` when its arguments cannot be read. */
export function toolUse<P>(raw: RawCall, offers: Offers<P>): ToolUseContent {
  const { id, alias } = raw;
  const call = decodeCall(raw, offers);
  const input = call.input ?? (offers.find(alias) === undefined ? parseInput(raw.input, alias) : call.problem);
  if (typeof input === "object") return { type: "tool_use", id, name: call.name, input };
  throw new McpError("invalid-response", `the model made a call that cannot be read: ${input}`);
}

/** The answer of a model. */
export function answerOf(answer: {
  readonly content: readonly SamplingContent[];
  readonly model: string;
  readonly stopReason: string | undefined;
}): CreateMessageResult {
  const { content, model, stopReason } = answer;
  const [only] = content;
  return {
    role: "assistant",
    content: content.length === 1 && only !== undefined ? only : content,
    model,
    ...(stopReason !== undefined && { stopReason }),
  };
}

/** A valid id for a call, derived where the provider would reject the original. */
export function safeId(id: string, maxLength: number): string {
  const rule: NameRule = {
    safe: new RegExp(`^[A-Za-z0-9_-]{1,${maxLength}}$`),
    unsafe: /[^A-Za-z0-9_-]/g,
    maxLength,
  };
  return toAlias(id, rule);
}
