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
 * Calls one tool and returns its output: its structured content, else its text when that is all, else its content
 * blocks, or undefined when there are none. Throws `tool-error` when the result has `isError`.
 */
export type ToolFunction<S extends ToolTypes[string]> = object extends S["input"]
  ? Calling<S>["withoutInput"]
  : Calling<S>["withInput"];

/** As methods, so that a client whose tools are known is a client of any tools, too. */
interface Calling<S extends ToolTypes[string]> {
  withoutInput(input?: S["input"], options?: ToolCallOptions): Promise<S["output"]>;
  withInput(input: S["input"], options?: ToolCallOptions): Promise<S["output"]>;
}

/**
 * Calls a tool by its name and returns the whole result. Where the types of the tools are known, only their names and
 * arguments are accepted; otherwise any.
 */
export type CallTool<T extends ToolTypes> = (string extends keyof T ? AnyTools : KnownTools<T>)["callTool"];

interface AnyTools {
  callTool(name: string, args?: object, options?: ToolCallOptions): Promise<CallToolResult>;
}

interface KnownTools<T extends ToolTypes> {
  callTool<N extends keyof T & string>(
    name: N,
    ...given: ToolCallArguments<T[N]>
  ): Promise<ToolCallResult<T[N]["output"]>>;
}

/** What `callTool` takes after the name of a tool: its arguments, which may be left out where none is required, and options. */
export type ToolCallArguments<S extends ToolTypes[string]> = unknown extends S["input"]
  ? [args?: object, options?: ToolCallOptions]
  : object extends S["input"]
    ? [args?: S["input"], options?: ToolCallOptions]
    : [args: S["input"], options?: ToolCallOptions];

/** The whole result of a tool whose output is known: its structured content is of that type unless the tool has failed. */
export type ToolCallResult<O> = unknown extends O
  ? CallToolResult
  : Omit<CallToolResult, "structuredContent" | "isError"> &
      (
        | { readonly structuredContent?: O extends Json ? O : O & Json; readonly isError?: false }
        | { readonly structuredContent?: Json; readonly isError: true }
      );

type CallUntyped = (name: string, input?: object, options?: ToolCallOptions) => Promise<CallToolResult>;
type UntypedFunction = (input?: object, options?: ToolCallOptions) => Promise<unknown>;

/** Functions for tools, created on first use. Their parameters and results are typed at compile time only. */
export function createTools<T extends ToolTypes>(callTool: CallUntyped): ToolFunctions<T> {
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

/**
 * Properties that the language reads on any object, for example when it is awaited or printed: these must not call a
 * tool.
 */
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

/** Older revisions have no structured content; a server of this package marks the text that contains it. */
function parsed(text: string): unknown {
  const read = parseJson(text);
  return read.ok ? read.value : text;
}

function textOf(content: readonly Content[]): string | undefined {
  const texts = content.flatMap((block) => (block.type === "text" ? [block.text] : []));
  return texts.length > 0 ? texts.join("\n") : undefined;
}
