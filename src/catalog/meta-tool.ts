import type { Json, JsonObject } from "../json/json.ts";
import type { CallToolResult, Tool } from "../model/tool.ts";
import type { Catalog } from "./catalog.ts";

/** Runs a tool by its full name, `server:tool`. */
export type ToolCaller = (name: string, args: JsonObject) => Promise<CallToolResult>;

/** A tool about tools. */
export interface MetaTool {
  readonly tool: Tool;
  run(args: JsonObject, call: ToolCaller): Promise<CallToolResult>;
}

export function answer(text: string): CallToolResult {
  return { content: [{ type: "text", text }] };
}

/** What the model did wrong, and what to do about it. */
export function problem(text: string): CallToolResult {
  return { ...answer(text), isError: true };
}

/** The model used a name that does not exist. */
export function unknownTool(catalog: Catalog, name: string, finder?: string): CallToolResult {
  const others = finder === undefined ? "" : ` Find tools with ${finder}.`;
  return problem(`There is no tool ${quoted(name)}.${hintOf(catalog.suggest(name))}${others}`);
}

export function hintOf(near: readonly string[]): string {
  return near.length > 0 ? ` Did you mean ${near.join(" or ")}?` : "";
}

/** A text of the model, told back to it. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}

/** What a value is, where another was expected. */
export function kindOf(value: Json): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
