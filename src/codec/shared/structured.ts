import type { JsonObject } from "../../json/json.ts";
import { without } from "./change.ts";

/**
 * The result of a tool without `structuredContent`, for a peer that cannot take
 * it. Where it was all that the tool said, it is said as text.
 */
export function structuredAsText(result: JsonObject): JsonObject {
  const { structuredContent, content } = result;
  const plain = dropStructured(result);
  if (structuredContent === undefined || (Array.isArray(content) && content.length > 0)) return plain;
  return { ...plain, content: [{ type: "text", text: JSON.stringify(structuredContent) }] };
}

const dropStructured = without("structuredContent");
