import { without } from "../../codec/shared/dialect.ts";
import { isObject, type JsonObject } from "../../json/json.ts";
import { withMeta } from "../../model/meta.ts";

/**
 * The result of a tool without `structuredContent`, for a peer that cannot take
 * it. Where it was all that the tool said, it is said as text, and a mark in
 * `_meta` tells clients like ours that the text is JSON.
 */
export function structuredAsText(result: JsonObject): JsonObject {
  const { structuredContent, content } = result;
  if (structuredContent === undefined) return result;
  const plain = dropStructured(result);
  const text = JSON.stringify(structuredContent);
  if (Array.isArray(content) && content.length > 0 && !isOnlyText(content, text)) return plain;
  return withMeta({ ...plain, content: [{ type: "text", text }] }, "plugbay/json", true);
}

function isOnlyText(content: readonly unknown[], text: string): boolean {
  const [block] = content;
  return content.length === 1 && isObject(block) && block.type === "text" && block.text === text;
}

const dropStructured = without("structuredContent");
