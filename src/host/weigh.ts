import type { Json } from "../json/json.ts";
import type { Content } from "../model/content.ts";
import type { CallToolResult } from "../model/tool.ts";

/** About how many characters a result has, counted no further than the limit. */
export function weighResult({ content, structuredContent }: CallToolResult, limit: number): number {
  let sum = 0;
  for (const block of content) sum += weighBlock(block);
  // The two say the same, mostly: the larger counts.
  if (structuredContent === undefined || sum > limit) return sum;
  return Math.max(sum, weighJson(structuredContent, limit));
}

function weighBlock(block: Content): number {
  switch (block.type) {
    case "text":
      return block.text.length;
    case "image":
    case "audio":
      return block.data.length;
    case "resource":
      return "text" in block.resource ? block.resource.text.length : block.resource.blob.length;
    case "resource_link":
      return block.uri.length + block.name.length;
  }
}

function weighJson(value: Json, limit: number): number {
  const open: (Json | undefined)[] = [value];
  let sum = 0;
  while (open.length > 0 && sum <= limit) {
    const next = open.pop();
    if (typeof next === "string") {
      sum += next.length + 2;
    } else if (typeof next === "object" && next !== null) {
      const keys = Object.keys(next);
      sum += keys.length + (Array.isArray(next) ? 2 : keys.join("").length);
      if (sum <= limit) open.push(...Object.values(next));
    } else {
      sum += 4;
    }
  }
  return sum;
}
