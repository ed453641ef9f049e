import { nearestTo } from "../catalog/tool-index.ts";
import { McpError } from "../protocol/errors.ts";
import type { HostTool, MissingServer } from "./host-tool.ts";

/** The error of a name that is none of a tool: says which there are, the nearest first. */
export function unknownTool(name: string, names: readonly string[], missing: readonly MissingServer[] = []): McpError {
  return unknown("tool", name, names, missing);
}

/** The error of a name that several servers use. `names` are those that are of one alone. */
export function ambiguousName(what: string, name: string, names: readonly string[]): McpError {
  const message = `${what} name ${quoted(name)} is ambiguous; use one of ${some(names)}`;
  return withSimilar(`ambiguous-${what}`, message, name, names.slice(0, maxNames));
}

/** The error of a name that is none of a prompt. */
export function unknownPrompt(name: string, names: readonly string[], missing: readonly MissingServer[]): McpError {
  return unknown("prompt", name, names, missing);
}

/** The error of a tool that its server does not list. */
export function unlistedTool(server: string, localName: string, tools: readonly HostTool[]): McpError {
  const names = tools.map((tool) => tool.localName);
  const message = `server ${server} lists no tool ${quoted(localName)}; ${whatThereIs("tool", localName, names)}`;
  return wrong("unknown-tool", message, localName, names);
}

/** The error of a server that a host does not have. */
export function unknownServer(name: string, names: readonly string[]): McpError {
  const message = `there is no server ${quoted(name)}; there are: ${some(names)}`;
  return wrong("unknown-server", message, name, names);
}

function unknown(what: string, name: string, names: readonly string[], missing: readonly MissingServer[]): McpError {
  const absent = missing.map(({ server }) => server);
  const more = absent.length === 0 ? "" : `; servers that could not be asked: ${some(absent)}`;
  const message = `unknown ${what} ${quoted(name)}; ${whatThereIs(what, name, names)}${more}`;
  return wrong(`unknown-${what}`, message, name, names);
}

function whatThereIs(what: string, name: string, names: readonly string[]): string {
  const near = nearestTo(name, names);
  if (near.length > 0) return `did you mean ${near.join(" or ")}?`;
  return `there are ${names.length} ${what}s: ${some(names)}`;
}

function wrong(reason: string, message: string, name: string, names: readonly string[]): McpError {
  return withSimilar(reason, message, name, nearestTo(name, names));
}

function withSimilar(reason: string, message: string, name: string, similar: readonly string[]): McpError {
  return new McpError("invalid-params", message, { data: { reason, name: shortened(name), similar } });
}

const maxChars = 128;

/** Names come from callers, and may be of any length. */
function shortened(name: string): string {
  return name.length > maxChars ? `${name.slice(0, maxChars)}…` : name;
}

function quoted(name: string): string {
  return JSON.stringify(shortened(name));
}

const maxNames = 20;

function some(names: readonly string[]): string {
  if (names.length === 0) return "none";
  return names.length > maxNames ? `${names.slice(0, maxNames).join(", ")}, …` : names.join(", ");
}
