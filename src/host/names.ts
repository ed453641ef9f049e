import { McpError } from "../model/errors.ts";

/** Stands between the name of a server and that of its tool. */
export const separator = ":";

/** The name of a tool within a host: `server:tool`. */
export function qualify(server: string, tool: string): string {
  return `${server}${separator}${tool}`;
}

/** A name within a host, taken apart. */
export interface QualifiedName {
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
