import { McpError } from "../protocol/errors.ts";
import { checkOptionNames, type OptionNames } from "../protocol/option-names.ts";
import type { ServerOptions } from "../server/options.ts";
import { createServer, type Server } from "../server/server.ts";
import { type ToolDefinition, type ToolOptions, tool } from "../server/tool.ts";
import { loadModule } from "./load-module.ts";

export interface ServerFromModuleOptions {
  /** The name of the server. Default: the name of the file without its ending, or `module`. */
  readonly name?: string | undefined;
  /** Default `1.0.0`. */
  readonly version?: string | undefined;
  /** Tells the model how to use the server. Default: none. */
  readonly instructions?: string | undefined;
  /** More options of `createServer`. Default: none. */
  readonly server?: Omit<ServerOptions, "name" | "version" | "instructions" | "tools"> | undefined;
}

const optionNames: OptionNames<ServerFromModuleOptions> = {
  name: true,
  version: true,
  instructions: true,
  server: true,
};

/**
 * Makes a server of what a module exports: each function is a tool that is called with its arguments and the context.
 * `source` is the path or URL of the module, or the module itself.
 *
 * What a tool says of itself is in an export `describe`, by the name of the function, or attached to the function:
 * `description`, `input`, `output` and the other options of `tool`. Exports made by `tool` are taken as they are. A server
 * that is the default export is returned. Rejects with `invalid-definition` when there is no tool.
 */
export async function serverFromModule(
  source: string | URL | object,
  options: ServerFromModuleOptions = {},
): Promise<Server> {
  checkOptionNames("serverFromModule", options, optionNames);
  const { exports, name, place } = await loadModule(source);
  if (isServer(exports.default)) return exports.default;
  const described = describedBy(exports.describe, place);
  const tools = Object.entries(exports).flatMap(([key, value]) => {
    const definition = toTool(key, value, described[key]);
    return definition === undefined ? [] : [[key, definition] as const];
  });
  const found = new Set(tools.map(([key]) => key));
  const missing = Object.keys(described).find((key) => !found.has(key));
  if (missing !== undefined)
    throw unusable(place, `describes ${JSON.stringify(missing)}, which is no exported function`);
  if (tools.length === 0) throw unusable(place, "exports no function by name that could be a tool");
  const { version = "1.0.0", instructions, server } = options;
  const info = { name: options.name ?? name, version, instructions };
  return createServer({ ...server, ...info, tools: Object.fromEntries(tools) });
}

/** What is said of a tool besides what it does. */
type Described = Omit<ToolOptions<{ readonly type: "object" }, undefined, unknown>, "run">;

function describedBy(describe: unknown, place: string): Readonly<Record<string, Described>> {
  if (describe === undefined || typeof describe === "function") return {};
  if (typeof describe !== "object" || describe === null) throw unusable(place, "exports a describe that is no object");
  return describe as Readonly<Record<string, Described>>;
}

function toTool(name: string, value: unknown, described: Described | undefined): ToolDefinition | undefined {
  // A function that is exported as default has no name of its own.
  if (name === "default" || name === "module.exports") return undefined;
  if (isToolDefinition(value)) return value;
  if (typeof value !== "function" || isServer(value) || isClass(value)) return undefined;
  const call = value as (input: unknown, context: unknown) => unknown;
  const options: Record<string, unknown> = { ...Object.fromEntries(Object.entries(value)), ...described };
  return tool({ ...options, run: (input, context) => call(input, context) });
}

function isToolDefinition(value: unknown): value is ToolDefinition {
  return typeof value === "object" && value !== null && "run" in value && typeof value.run === "function";
}

function isServer(value: unknown): value is Server {
  return typeof value === "function" && "info" in value && "tools" in value;
}

/** A class cannot be called, and its instances are no results. */
function isClass(value: object): boolean {
  return /^class\b/.test(Function.prototype.toString.call(value));
}

function unusable(place: string, problem: string): McpError {
  return new McpError("invalid-definition", `the module ${place} ${problem}`);
}
