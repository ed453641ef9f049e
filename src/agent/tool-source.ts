import type { SourceTool } from "../catalog/sort-tools.ts";
import type { Progress } from "../client/call-options.ts";
import type { JsonObject } from "../json/json.ts";
import type { Content, ResourceContents } from "../protocol/content.ts";
import type { CallToolResult, Tool } from "../protocol/tool.ts";

/** Where tools come from: a host, a client, or anything like them. */
export interface ToolSource {
  listTools(options: { readonly signal: AbortSignal | undefined }): Promise<readonly SourceTool[]>;
  callTool(
    name: string,
    args: JsonObject,
    options: { readonly signal: AbortSignal; readonly onProgress?: (progress: Progress) => void },
  ): Promise<CallToolResult>;
  /** Reads a page of a result that was too large, where large results are cut into pages. */
  readResultPage?(
    uri: string,
    options: { readonly signal: AbortSignal },
  ): Promise<{ readonly contents: readonly ResourceContents[] }>;
}

/** Lets a model read the rest of a result that was cut. */
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
  const page = await source.readResultPage?.(uri, { signal });
  return { content: (page?.contents ?? []).map(toContent) };
}

function toContent(contents: ResourceContents): Content {
  if ("text" in contents) return { type: "text", text: contents.text };
  const { mimeType = "application/octet-stream", blob } = contents;
  if (mimeType.startsWith("image/")) return { type: "image", data: blob, mimeType };
  if (mimeType.startsWith("audio/")) return { type: "audio", data: blob, mimeType };
  return { type: "resource", resource: contents };
}
