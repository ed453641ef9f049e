import type { Implementation } from "../model/peer.ts";
import type { Prompt } from "../model/prompt.ts";
import type { Resource, ResourceTemplate } from "../model/resource.ts";
import type { Revision } from "../model/revision.ts";
import type { Tool } from "../model/tool.ts";

/** What was approved of servers, and what they showed then. Plain data; the file `plugbay.lock` holds it. */
export interface Lock {
  readonly lockVersion: 1;
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
  /** The fingerprint of its instructions, if it has some. */
  readonly instructions?: string;
  readonly tools: Readonly<Record<string, LockedTool>>;
  /** What it showed besides tools, to start with before it is connected. Nothing of it was approved. */
  readonly prompts?: readonly Prompt[];
  readonly resources?: readonly Resource[];
  readonly resourceTemplates?: readonly ResourceTemplate[];
}

/** The name of the program, or the URL without user, query and fragment. */
export type LockedTarget = { readonly command: string } | { readonly url: string };

/** One tool as it was approved. */
export interface LockedTool {
  /** `sha256-` and the digest of the definition. */
  readonly fingerprint: string;
  /** What counts of a tool: see {@link approvedPartOf}. */
  readonly definition: Tool;
}

/** What a server shows now. */
export interface ServerSurface {
  /** The host's name of the server. */
  readonly name: string;
  /** An entry of a config file will do: of it the program or the URL is kept, and no argument, variable or header. */
  readonly target?: { readonly command: string } | { readonly url: string };
  readonly revision?: Revision;
  readonly info?: Implementation;
  readonly scopes?: readonly string[];
  readonly instructions?: string;
  readonly tools: readonly Tool[];
  readonly prompts?: readonly Prompt[];
  readonly resources?: readonly Resource[];
  readonly resourceTemplates?: readonly ResourceTemplate[];
}

/** The tools that were approved, as servers and definitions: a catalog without a connection. */
export function lockedTools(lock: Lock): readonly { readonly server: string; readonly tool: Tool }[] {
  return Object.entries(lock.servers).flatMap(([server, { tools }]) =>
    Object.values(tools).map(({ definition }) => ({ server, tool: definition })),
  );
}
