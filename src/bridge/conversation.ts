import { McpError } from "../model/errors.ts";
import type {
  CreateMessageResult,
  SamplingContent,
  SamplingMessage,
  ToolResultContent,
  ToolUseContent,
} from "../model/input.ts";
import { type NameRule, toAlias } from "./alias.ts";
import type { NamedResult } from "./bridge.ts";
import type { Offers } from "./offers.ts";
import { decodeCall, parseInput, type RawCall } from "./read-call.ts";

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

/** The id of a call, made fit for a provider that did not give it. */
export function safeId(id: string, maxLength: number): string {
  const rule: NameRule = {
    safe: new RegExp(`^[A-Za-z0-9_-]{1,${maxLength}}$`),
    unsafe: /[^A-Za-z0-9_-]/g,
    maxLength,
  };
  return toAlias(id, rule);
}
