import type { Channel } from "../jsonrpc/channel.ts";
import { McpError } from "../model/errors.ts";
import type { Service } from "../model/service.ts";
import { splitWords } from "../std/words.ts";
import type { Command } from "../transport/command.ts";

/** An entry of an `mcpServers` file: a program to start, or a URL. */
export type ConfigEntry =
  | Command
  | { readonly url: string; readonly type?: string; readonly headers?: Readonly<Record<string, string>> };

/**
 * Where a server is: in this process, behind a command, at a URL, at the end of
 * a channel, or what a config file says of it. A text that is no URL is a command line; quotes keep
 * words together, nothing is expanded, and no shell is involved.
 */
export type Target = Service | ConfigEntry | Channel | URL | string | readonly string[];

/** A target that was understood. */
export type Place =
  | { readonly kind: "service"; readonly service: Service }
  | { readonly kind: "command"; readonly command: Command }
  | { readonly kind: "channel"; readonly channel: Channel }
  | { readonly kind: "url"; readonly url: URL };

/** Reads a target. Throws `invalid-params` when it is none. */
export function readTarget(target: Target): Place {
  if (typeof target === "function") return { kind: "service", service: target };
  if (target instanceof URL) return { kind: "url", url: target };
  if (typeof target === "string") return readText(target);
  if (isWords(target)) return readWords(target, "the command");
  if ("incoming" in target) return { kind: "channel", channel: target };
  if ("url" in target) return readUrl(target.url);
  if (typeof target.command === "string" && target.command !== "") return { kind: "command", command: target };
  throw bad("a config entry needs a command or a url");
}

function readText(text: string): Place {
  if (/^https?:\/\//i.test(text)) return readUrl(text);
  const words = splitWords(text);
  if (words === undefined) throw bad(`a quote is open in ${JSON.stringify(text)}`);
  return readWords(words, JSON.stringify(text));
}

function readUrl(text: string): Place {
  if (!URL.canParse(text)) throw bad(`${JSON.stringify(text)} is no URL`);
  return { kind: "url", url: new URL(text) };
}

function readWords([command, ...args]: readonly string[], what: string): Place {
  if (command === undefined || command === "") throw bad(`${what} names no program`);
  return { kind: "command", command: { command, args } };
}

function isWords(target: object): target is readonly string[] {
  return Array.isArray(target);
}

function bad(problem: string): McpError {
  return new McpError("invalid-params", `cannot connect: ${problem}`);
}
