import { canonicalText } from "../json/canonical.ts";
import { asJson, type Json } from "../json/json.ts";
import type { Resource, ResourceTemplate } from "../protocol/content.ts";
import type { Implementation } from "../protocol/peer.ts";
import type { Prompt } from "../protocol/prompt.ts";
import type { Revision } from "../protocol/revision.ts";
import type { Tool } from "../protocol/tool.ts";
import { defined } from "../std/defined.ts";
import { digestText } from "../std/digest.ts";

/** The approved state of servers. Plain data; the file `plugbay.lock` contains it. */
export interface Lock {
  readonly lockVersion: 2;
  /** By the host's name of the server. */
  readonly servers: Readonly<Record<string, LockedServer>>;
}

/** One server as it was approved. */
export interface LockedServer {
  /** Where it is, without anything secret. Absent for one in this process. */
  readonly target?: LockedTarget;
  readonly revision?: Revision;
  readonly info?: Pick<Implementation, "name" | "title" | "version">;
  /** The scopes that it may be given. */
  readonly scopes: readonly string[];
  /** Instructions of the server for models. */
  readonly instructions?: string;
  readonly tools: Readonly<Record<string, LockedTool>>;
  readonly prompts?: readonly Prompt[];
  readonly resources?: readonly Resource[];
  readonly resourceTemplates?: readonly ResourceTemplate[];
}

/** A program, or the URL without user, query and fragment. */
export type LockedTarget = LockedProgram | { readonly url: string };

/** A program as it was approved. Of arguments and values of variables there are only digests. */
export interface LockedProgram {
  /** The file that is started. */
  readonly command: string;
  /** Where symbolic links lead from there, if anywhere else. */
  readonly file?: string;
  /** `sha256-` and the digest of its arguments, if it has some. */
  readonly args?: string;
  readonly cwd?: string;
  /** The names of the variables that were configured for it. */
  readonly env: readonly string[];
  /** What a runner such as `npx` fetches and runs. */
  readonly packages?: readonly LockedPackage[];
  /** `sha256-` and the digest of all of it, and of the values of those variables that choose which code runs. */
  readonly fingerprint: string;
}

export interface LockedPackage {
  /** As the command names it: `@scope/server@1.2.3`. */
  readonly spec: string;
  /** False when another version may be run without a change of the command. */
  readonly isPinned: boolean;
}

/** One tool as it was approved. */
export interface LockedTool {
  /** `sha256-` and the digest of the definition. */
  readonly fingerprint: string;
  /** What counts of a tool: see {@link approvedPartOf}. */
  readonly definition: Tool;
}

/** A program that is started as a server. */
export interface ServerProgram {
  /** As it is configured: a file, or a name that is looked up in `PATH`. */
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly inheritEnv?: readonly string[] | undefined;
  /** The file that the system starts for the command. */
  readonly path?: string | undefined;
  /** The same file, all symbolic links followed. */
  readonly file?: string | undefined;
}

/** What a server shows now. */
export interface ServerSurface {
  /** The host's name of the server. */
  readonly name: string;
  /** An entry of a configuration file can be used, but `path` and `file` are known only when the command is located. */
  readonly target?: ServerProgram | { readonly url: string } | undefined;
  readonly revision?: Revision | undefined;
  readonly info?: Implementation | undefined;
  readonly scopes?: readonly string[] | undefined;
  readonly instructions?: string | undefined;
  readonly tools: readonly Tool[];
  readonly prompts?: readonly Prompt[] | undefined;
  readonly resources?: readonly Resource[] | undefined;
  readonly resourceTemplates?: readonly ResourceTemplate[] | undefined;
}

/** The tools that were approved, as servers and definitions: a catalog without a connection. */
export function lockedTools(lock: Lock): readonly { readonly server: string; readonly tool: Tool }[] {
  return Object.entries(lock.servers).flatMap(([server, { tools }]) =>
    Object.values(tools).map(({ definition }) => ({ server, tool: definition })),
  );
}

/**
 * An object of these members, sorted by name, that has no others: not even
 * `constructor`. For names that servers choose.
 */
export function toRecord<T>(entries: Iterable<readonly [string, T]>): Readonly<Record<string, T>> {
  const record: Record<string, T> = Object.create(null);
  for (const [name, value] of [...entries].sort(byName)) record[name] = value;
  return record;
}

/** A member that an object has itself. */
export function memberOf<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** By identity: tools do not change, and a host asks for the same ones again and again. */
const known = new WeakMap<Tool, Promise<string>>();

/**
 * The fingerprint of a tool: equal for tools with the same meaning for people and models, in any order of members, and
 * different for all others. Only {@link approvedPartOf} counts.
 */
export function fingerprintOf(tool: Tool): Promise<string> {
  const before = known.get(tool);
  if (before !== undefined) return before;
  const fingerprint = digestOf(asJson(approvedPartOf(tool)));
  known.set(tool, fingerprint);
  return fingerprint;
}

/**
 * The approved part of a tool: everything that describes it and how it is called. Without `icons`, `execution` and
 * `_meta`, which change by revision and version and are not shown to models.
 */
export function approvedPartOf(tool: Tool): Tool {
  const { name, title, description, inputSchema, outputSchema, annotations } = tool;
  return defined({ name, title, description, inputSchema, outputSchema, annotations });
}

/** `sha256-` and the digest of a value: equal for equal values. */
export async function digestOf(value: Json): Promise<string> {
  return `sha256-${await digestText(canonicalText(value))}`;
}
