import type { Json } from "../json/json.ts";
import { parseJson } from "../json/parse.ts";
import type { Content } from "../protocol/content.ts";
import { McpError } from "../protocol/errors.ts";
import type { CallToolResult, ToolTypes } from "../protocol/tool.ts";
import { quote } from "../std/text.ts";
import type { ToolCallOptions } from "./call-options.ts";

/** The tools of a server as functions, by name. */
export type ToolFunctions<T extends ToolTypes> = { readonly [N in keyof T]: ToolFunction<T[N]> };

/**
 * Calls one tool and returns what it gives: its structured content, else its
 * text when that is all there is, else its content blocks, or undefined when
 * there are none. Throws `tool-error` when the tool says that it failed.
 */
export type ToolFunction<S extends ToolTypes[string]> = object extends S["input"]
  ? (input?: S["input"], options?: ToolCallOptions) => Promise<S["output"]>
  : (input: S["input"], options?: ToolCallOptions) => Promise<S["output"]>;

type CallTool = (name: string, input?: object, options?: ToolCallOptions) => Promise<CallToolResult>;
type UntypedFunction = (input?: object, options?: ToolCallOptions) => Promise<unknown>;

/** Functions for tools, made when first used. What they take and give exists only in their types. */
export function createTools<T extends ToolTypes>(callTool: CallTool): ToolFunctions<T> {
  const functions = new Map<string, UntypedFunction>();

  const functionOf = (name: string): UntypedFunction => {
    const known = functions.get(name);
    if (known !== undefined) return known;
    const made: UntypedFunction = async (input, options) => toValue(await callTool(name, input, options), name);
    if (functions.size >= maxFunctions) functions.clear();
    functions.set(name, made);
    return made;
  };

  return new Proxy(Object.freeze(Object.create(null)), {
    get: (_, name) => (typeof name === "symbol" || notTools.has(name) ? undefined : functionOf(name)),
  });
}

/** What the language looks for on any object: whoever awaits or prints the tools must not call one. */
const notTools: ReadonlySet<string> = new Set(["then", "toJSON"]);

/** Names may come from a model, which can invent any number of them. */
const maxFunctions = 10_000;

/** The value in a result. Throws `tool-error` for one that reports a failure. */
export function toValue(result: CallToolResult, name = "unknown"): unknown {
  const { content, structuredContent, isError, _meta: meta } = result;
  if (isError === true) throw toolError(name, content, meta?.["plugbay/error"] ?? meta?.["plugbay/issues"]);
  if (structuredContent !== undefined) return structuredContent;
  const [first, ...more] = content;
  if (first === undefined) return undefined;
  if (first.type !== "text" || more.length > 0) return content;
  return meta?.["plugbay/json"] === true ? parsed(first.text) : first.text;
}

function toolError(name: string, content: readonly Content[], data: Json | undefined): McpError {
  return new McpError(
    "tool-error",
    textOf(content) ?? `tool ${quote(name)} failed without saying why`,
    data === undefined ? {} : { data },
  );
}

/** Older revisions have no structured content; a server like ours marks text that stands for it. */
function parsed(text: string): unknown {
  const read = parseJson(text);
  return read.ok ? read.value : text;
}

function textOf(content: readonly Content[]): string | undefined {
  const texts = content.flatMap((block) => (block.type === "text" ? [block.text] : []));
  return texts.length > 0 ? texts.join("\n") : undefined;
}
