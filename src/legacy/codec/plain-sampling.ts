import { type Attempt, type Change, dropMeta, inEach, inOrder } from "../../codec/shared/dialect.ts";
import { isObject, type Json, type JsonObject } from "../../json/json.ts";
import { refuseFor } from "./refuse-for.ts";

/**
 * Asks for a sample without tools, each message in one block, as it was before
 * 2025-11-25. An array of one block becomes that block.
 */
export const plainSampling: Attempt = (params) => {
  const tooNew = params.tools !== undefined ? "tools" : params.toolChoice !== undefined ? "toolChoice" : rich(params);
  if (tooNew !== undefined) return refuseFor(`params.${tooNew}`, "2025-11-25", { sampling: { tools: {} } });
  return { ok: true, value: inOneBlockEach(params) };
};

/** The message that is more than one block of text, image or audio. */
function rich({ messages }: JsonObject): string | undefined {
  if (!Array.isArray(messages)) return undefined;
  const index = messages.findIndex((message) => isObject(message) && !isOneBlock(message.content));
  return index < 0 ? undefined : `messages[${index}].content`;
}

function isOneBlock(content: Json | undefined): boolean {
  const [block, ...more] = Array.isArray(content) ? content : [content];
  return more.length === 0 && isObject(block) && isPlain(block);
}

function isPlain({ type }: JsonObject): boolean {
  return type !== "tool_use" && type !== "tool_result";
}

/**
 * Says a sampling message in one block. An answer has to fit, whatever the
 * model said: of several blocks the texts are joined, or else the first stands.
 */
export const oneBlock: Change = (message) => {
  const { content } = message;
  return Array.isArray(content) ? { ...message, content: inOne(content.filter(isObject).filter(isPlain)) } : message;
};

function inOne(blocks: readonly JsonObject[]): JsonObject {
  const [first, ...more] = blocks;
  if (first !== undefined && more.length === 0) return first;
  const texts = blocks.flatMap(({ text }) => (typeof text === "string" ? [text] : []));
  return first === undefined || texts.length > 0 ? { type: "text", text: texts.join("\n") } : first;
}

const inOneBlockEach: Change = inEach("messages", inOrder(oneBlock, dropMeta));
