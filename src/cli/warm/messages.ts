import type { OAuthSettings } from "../../config/server-entry.ts";
import type { UrlEntry } from "../../connect/target.ts";
import type { Failure } from "../../protocol/errors.ts";
import { clientLimits, type MessageLimits } from "../../protocol/limits.ts";
import type { DiscoverResult } from "../../protocol/methods.ts";
import type { ClientCapabilities, Implementation } from "../../protocol/peer.ts";
import type { Revision } from "../../protocol/revision.ts";
import type { CallOf } from "../../protocol/service.ts";
import type { Command } from "../../transport/command.ts";

/**
 * What a command and a background process say to each other: JSON-RPC, one message a line, over a socket. Calls and
 * outcomes are those of the model, as they are, so that nothing of a server is lost between the two, whatever it speaks.
 */
export const warmMethods = {
  /** Command: connect me to the target. */
  open: "warm/open",
  /** Command: a call for the server. */
  call: "warm/call",
  /** Command: is the server there? */
  ping: "warm/ping",
  /** Command: the log level of the connection. */
  logLevel: "warm/log-level",
  /** Command: a notification for the server that belongs to no call. */
  tell: "warm/tell",
  /** Command: what is kept? */
  status: "warm/status",
  /** Command: end. */
  stop: "warm/stop",
  /** Background process: a notification that belongs to a call. */
  notify: "warm/notify",
  /** Background process: a notification of the server that belongs to no call. */
  told: "warm/told",
  /** Background process: a question of the server. */
  ask: "warm/ask",
  /** Background process: what the server wrote to stderr. */
  stderr: "warm/stderr",
  /** Background process: a warning about the connection. */
  warning: "warm/warning",
  /** Background process: the connection to the server is over. */
  ended: "warm/ended",
} as const;

/** A message of a server within the limits of a client always fits into one. */
export const warmLimits: MessageLimits = {
  maxMessageBytes: clientLimits.maxMessageBytes * 2,
  maxJsonDepth: clientLimits.maxJsonDepth + 8,
  maxJsonNodes: clientLimits.maxJsonNodes + 1_000,
};

/** A server to keep, and how to connect to it. It may have secrets in it: it is kept in memory only. */
export interface WarmTarget {
  readonly entry: Omit<Command, "stderr"> | UrlEntry;
  readonly revision?: Revision | undefined;
  /** Where the sign-in at a URL is kept. */
  readonly tokens?: string | undefined;
  readonly oauth?: OAuthSettings | false | undefined;
}

export interface OpenParams {
  /** The version of the command. A background process of another version ends, and a new one is started. */
  readonly version: string;
  readonly target: WarmTarget;
  /** What messages call the target. No secret is in it. */
  readonly name: string;
  /** The folder the command was typed in. */
  readonly folder: string;
  readonly info: Implementation;
  readonly capabilities: ClientCapabilities;
  readonly connectTimeoutMs: number;
  /** How long the background process stays when no command is connected to it. 0: until it is stopped. */
  readonly idleMs: number;
  /** Whether the command shows stderr and warnings. */
  readonly verbose: boolean;
}

export type OpenResult =
  | OpenedResult
  | { readonly kind: "failed"; readonly failure: Failure }
  /** The background process is of another version, and ends. */
  | { readonly kind: "retired" };

export interface OpenedResult {
  readonly kind: "opened";
  readonly revision: Revision;
  readonly server: DiscoverResult;
  readonly hasSession?: boolean | undefined;
  readonly takesHeaders?: boolean | undefined;
  /** What the connection can do besides calls. */
  readonly can: { readonly ping: boolean; readonly setLogLevel: boolean; readonly tell: boolean };
}

/** What crosses of a call. Its outcome crosses but for its cause. */
export type CallParams = Pick<
  CallOf,
  "method" | "params" | "meta" | "wantsProgress" | "logLevel" | "answers" | "state" | "headers" | "tasks" | "maxBytes"
>;

/** What a question, a ping or a log level came to. */
export type Done<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly failure: Failure };

/** One connection that is kept. */
export interface KeptStatus {
  /** The process of the server, where it is one of ours. */
  readonly pid?: number | undefined;
  readonly revision: Revision;
  /** When it was connected, in milliseconds since 1970. */
  readonly since: number;
  /** Commands that use it now. */
  readonly commands: number;
}

/** What a background process says of itself. No secret is in it. */
export interface WarmStatus {
  readonly version: string;
  readonly pid: number;
  /** What commands called the target, the last one first: a configured server may be typed as a program, too. */
  readonly names: readonly string[];
  readonly folder?: string | undefined;
  /** Where a server at a URL is. */
  readonly origin?: string | undefined;
  readonly since: number;
  readonly usedAt: number;
  readonly idleMs: number;
  /** Of the background process itself. */
  readonly memoryBytes: number;
  readonly servers: readonly KeptStatus[];
}
