import type { JsonObject } from "../../json/json.ts";
import { UsageError } from "../usage-error.ts";

interface NewServer {
  readonly url: string | undefined;
  /** The command line after `--`. */
  readonly command: readonly string[];
  /** `NAME=value` each. */
  readonly env: readonly string[];
  /** `name: value` each. */
  readonly headers: readonly string[];
}

/** What was typed of a server, as an entry of a file of nobody in particular. */
export function newServer({ url, command, env, headers }: NewServer): JsonObject {
  const [program, ...args] = command;
  if ((url === undefined) === (program === undefined)) {
    throw new UsageError(
      "a server is a URL or a command",
      "write plugbay add <name> <url>, or plugbay add <name> -- <command>",
    );
  }
  if (url !== undefined) {
    if (env.length > 0) throw new UsageError("--env is for programs, and the server is a URL");
    if (!/^https?:\/\//i.test(url) || !URL.canParse(url))
      throw new UsageError(`${JSON.stringify(url)} is not a URL`, "write https://…");
    return { url, ...(headers.length > 0 && { headers: Object.fromEntries(headers.map(readHeader)) }) };
  }
  if (headers.length > 0) throw new UsageError("--header is for URLs, and the server is a program");
  return { command: program ?? "", args, ...(env.length > 0 && { env: Object.fromEntries(env.map(readVariable)) }) };
}

function readVariable(text: string): readonly [string, string] {
  const [, name, value] = /^([^=\s]+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new UsageError("--env has no value", "write --env NAME=value");
  return [name, value];
}

function readHeader(text: string): readonly [string, string] {
  const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):\s*(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) {
    throw new UsageError("a header has no name", 'write --header "name: value"');
  }
  return [name, value];
}
