import type { CatalogTool } from "../catalog/catalog-tool.ts";
import type { Progress } from "../client/call-options.ts";
import type { JsonObject } from "../json/json.ts";
import type { ResourceContents } from "../model/resource.ts";
import type { CallToolResult, Tool } from "../model/tool.ts";

/** A tool that a model may use, with the server it is from. */
export interface SourceTool extends Tool {
  readonly server: string;
  /** What its server calls it. */
  readonly localName: string;
}

/** Tools for the catalog: to be metered, searched or disclosed. */
export function toCatalog(tools: readonly SourceTool[]): readonly CatalogTool[] {
  return tools.map(({ server, localName, ...rest }) => {
    // The alias of a host is no part of the tool.
    const { alias: _, ...tool } = rest as typeof rest & { readonly alias?: string };
    return { server, tool: { ...tool, name: localName } };
  });
}

/** Where tools come from: a host, or anything like one. */
export interface ToolSource {
  tools(options: { readonly signal: AbortSignal | undefined }): Promise<readonly SourceTool[]>;
  callTool(
    name: string,
    args: JsonObject,
    options: { readonly signal: AbortSignal; readonly onProgress?: (progress: Progress) => void },
  ): Promise<CallToolResult>;
  /** Reads the pages of results that were too large. */
  readResource?(
    server: string,
    uri: string,
    options: { readonly signal: AbortSignal },
  ): Promise<{ readonly contents: readonly ResourceContents[] }>;
}
