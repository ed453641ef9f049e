import { isObject, type Json, type JsonObject } from "../../json/json.ts";
import type { Check, Problem } from "./check.ts";

/**
 * Whether the tool calls in a conversation are answered where they must be.
 *
 * A message with a tool result holds nothing but tool results, and they answer
 * exactly the tool calls of the message before it.
 */
export const toolLayoutProblem: Check = (params) => {
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
