import type { Failure } from "../model/errors.ts";
import type { Prompt } from "../model/prompt.ts";
import type { Resource, ResourceTemplate } from "../model/resource.ts";
import type { Tool } from "../model/tool.ts";
import { qualify } from "./names.ts";

/** A tool of one of the servers of a host. Its `name` is `server:tool`: give a list of them to a bridge as it is. */
export interface HostTool extends Tool {
  readonly server: string;
  /** What the server itself calls it. */
  readonly localName: string;
  /** For providers that take no other characters: `[A-Za-z0-9_-]`, at most 64. `callTool` takes it as well. */
  readonly alias: string;
}

const originals = new WeakMap<HostTool, Tool>();

/** Gives a tool its place in a host. */
export function toHostTool(server: string, tool: Tool, aliasOf: (server: string, tool: string) => string): HostTool {
  const { name } = tool;
  const placed = { ...tool, name: qualify(server, name), server, localName: name, alias: aliasOf(server, name) };
  originals.set(placed, tool);
  return placed;
}

/** The tool as its server lists it. */
export function originalOf(tool: HostTool): Tool {
  const { server: _, localName, alias: __, ...rest } = tool;
  return originals.get(tool) ?? { ...rest, name: localName };
}

export interface HostResource extends Resource {
  readonly server: string;
}

export interface HostResourceTemplate extends ResourceTemplate {
  readonly server: string;
}

export interface HostPrompt extends Prompt {
  readonly server: string;
}

/** A server that is missing from a list, and why. */
export interface Missing {
  readonly server: string;
  readonly reason: Failure;
  /** What to do about it, where that is known. */
  readonly hint?: string;
}

/** A list over all servers, in the order the servers were given in. */
export interface Listing<T> extends ReadonlyArray<T> {
  /** Servers whose part is not in it. */
  readonly missing: readonly Missing[];
}

export function toListing<T>(items: readonly T[], missing: readonly Missing[]): Listing<T> {
  return Object.defineProperty([...items], "missing", { value: missing }) as unknown as Listing<T>;
}
