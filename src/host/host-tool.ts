import type { Resource, ResourceTemplate } from "../protocol/content.ts";
import { type Failure, McpError } from "../protocol/errors.ts";
import type { Prompt } from "../protocol/prompt.ts";
import type { Tool } from "../protocol/tool.ts";
import { findHiddenText, type HiddenText } from "../std/hidden-text.ts";

/** A tool of one of the servers of a host. Its `name` is `server:tool`: give a list of them to a bridge as it is. */
export interface HostTool extends Tool {
  readonly server: string;
  /** What the server itself calls it. */
  readonly localName: string;
  /** For providers that take no other characters: `[A-Za-z0-9_-]`, at most 64. `callTool` takes it as well. */
  readonly alias: string;
  /** What of it has characters that do not show, if anything has. Show it to who approves the tool. */
  readonly hiddenText?: readonly HiddenText[];
}

const originals = new WeakMap<HostTool, Tool>();

/** Gives a tool its place in a host. */
export function toHostTool(server: string, tool: Tool, aliasOf: (server: string, tool: string) => string): HostTool {
  const { name } = tool;
  const place = { name: qualify(server, name), server, localName: name, alias: aliasOf(server, name) };
  const placed: HostTool = { ...tool, ...place, ...hiddenTextIn(tool) };
  originals.set(placed, tool);
  return placed;
}

/** The tool as its server lists it. */
export function originalOf(tool: HostTool): Tool {
  const { server: _, localName, alias: __, hiddenText: ___, ...rest } = tool;
  return originals.get(tool) ?? { ...rest, name: localName };
}

/** What a host adds to what a server lists besides tools. */
interface Placed {
  readonly server: string;
  /** What of it has characters that do not show, if anything has. */
  readonly hiddenText?: readonly HiddenText[];
}

export interface HostResource extends Resource, Placed {}

export interface HostResourceTemplate extends ResourceTemplate, Placed {}

export interface HostPrompt extends Prompt, Placed {}

/** Gives something that a server lists its place in a host. */
export function toPlaced<T extends object>(server: string, item: T): T & Placed {
  return { ...item, server, ...hiddenTextIn(item) };
}

/** The item as its server lists it. */
export function withoutPlace<T extends object>(item: T & Partial<Placed>): Omit<T, keyof Placed> {
  const { server: _, hiddenText: __, ...rest } = item;
  return rest;
}

function hiddenTextIn(item: object): { readonly hiddenText?: readonly HiddenText[] } {
  const hiddenText = findHiddenText(item);
  return hiddenText.length === 0 ? {} : { hiddenText };
}

/** A server that is missing from a list, and why. */
export interface MissingServer {
  readonly server: string;
  readonly reason: Failure;
  /** What to do about it, where that is known. */
  readonly hint?: string;
}

/** A list over all servers, in the order the servers were given in. */
export interface Listing<T> extends ReadonlyArray<T> {
  /** Servers whose part is not in it. */
  readonly missing: readonly MissingServer[];
}

export function toListing<T>(items: readonly T[], missing: readonly MissingServer[]): Listing<T> {
  return Object.defineProperty([...items], "missing", { value: missing }) as unknown as Listing<T>;
}

/** A tool that is there, and cannot be called. */
export interface WithheldTool {
  readonly server: string;
  /** `server:tool`. */
  readonly name: string;
  /** What withholds it: a rule of the policy, the lock, or the tool filter of its server. */
  readonly by: "policy" | "lock" | "filter";
  /** The rule, for people. */
  readonly reason: string;
}

/** The tools of all servers that may be called. */
export interface ToolListing extends Listing<HostTool> {
  /** Tools that are there, and cannot be called. */
  readonly withheld: readonly WithheldTool[];
}

export function toToolListing(listing: Listing<HostTool>, withheld: readonly WithheldTool[]): ToolListing {
  return Object.defineProperty(listing, "withheld", { value: withheld }) as ToolListing;
}

/** Stands between the name of a server and that of its tool. */
const separator = ":";

/** The name of a tool within a host: `server:tool`. */
export function qualify(server: string, tool: string): string {
  return `${server}${separator}${tool}`;
}

/** A name within a host, taken apart. */
interface QualifiedName {
  readonly server: string;
  readonly name: string;
}

/** Takes a name apart at its first separator: servers have none in theirs, tools may. Undefined when there is none. */
export function splitName(full: string): QualifiedName | undefined {
  const at = full.indexOf(separator);
  return at < 0 ? undefined : { server: full.slice(0, at), name: full.slice(at + 1) };
}

/** Throws `invalid-config` when a server cannot have this name. */
export function checkServerName(name: string): void {
  const problem = problemOf(name);
  if (problem !== undefined) throw new McpError("invalid-config", `the server name ${JSON.stringify(name)} ${problem}`);
}

function problemOf(name: string): string | undefined {
  if (name === "") return "is empty";
  if (name.includes(separator)) return `must not have a "${separator}"`;
  if (/\p{Cc}/u.test(name)) return "must not have control characters";
  if (name.length > maxNameChars) return `is longer than ${maxNameChars} characters`;
  return undefined;
}

const maxNameChars = 128;
