import type { JsonObject } from "../json/json.ts";
import type { Content } from "../model/content.ts";
import type { ResourceContents } from "../model/resource.ts";
import type { CallToolResult, Tool } from "../model/tool.ts";
import type { ToolSource } from "./tool-source.ts";

/** Lets a model read on where a result was cut. */
export const readPage: Tool = {
  name: "read_page",
  description: "Reads one page of a tool result that was cut. Give the URI that the result names.",
  inputSchema: {
    type: "object",
    properties: {
      uri: { type: "string", description: "plugbay-result:///…/1, with the number of the page at its end" },
    },
    required: ["uri"],
  },
  annotations: { readOnlyHint: true },
};

export async function runReadPage(
  source: ToolSource,
  { uri }: JsonObject,
  signal: AbortSignal,
): Promise<CallToolResult | string> {
  // Other resources may be read only by tools that the policy has a say in.
  if (typeof uri !== "string" || !uri.startsWith("plugbay-result:")) {
    return { content: [{ type: "text", text: "uri must be one that a cut result names" }], isError: true };
  }
  const page = await source.readResource?.("", uri, { signal });
  return { content: (page?.contents ?? []).map(toContent) };
}

function toContent(contents: ResourceContents): Content {
  if ("text" in contents) return { type: "text", text: contents.text };
  const { mimeType = "application/octet-stream", blob } = contents;
  if (mimeType.startsWith("image/")) return { type: "image", data: blob, mimeType };
  if (mimeType.startsWith("audio/")) return { type: "audio", data: blob, mimeType };
  return { type: "resource", resource: contents };
}
