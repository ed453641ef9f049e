import type { LockedTarget, ServerSurface } from "./lock.ts";

/**
 * Where a server is, for everybody to read. Of a command the name of the program
 * is left, of a URL origin and path; a part of the path that looks like a key is
 * hidden. Undefined when there is nothing to tell.
 */
export function lockedTarget(target: ServerSurface["target"]): LockedTarget | undefined {
  if (target === undefined) return undefined;
  if ("command" in target) return { command: programOf(target.command) };
  if (!URL.canParse(target.url)) return undefined;
  const { protocol, host, pathname } = new URL(target.url);
  return { url: `${protocol}//${host}${pathname.split("/").map(withoutKey).join("/")}` };
}

/** What follows a space may be an argument, unless the whole is the path of a program of Windows. */
function programOf(command: string): string {
  const isPath = /^[a-z]:\\[^"]*\.(?:exe|cmd|bat|com)$/i.test(command) && !/ [-/]/.test(command);
  const path = isPath ? command : (command.trim().split(/\s/)[0] ?? "");
  return path.split(/[\\/]/).at(-1) ?? "";
}

/** Letters mixed with digits without a break for long, many digits, or a UUID. */
const key = /(?=[a-z]*\d)(?=\d*[a-z])[a-z\d]{12,}|\d{12,}|[\da-f]{8}-[\da-f]{4}-/i;

function withoutKey(segment: string): string {
  return key.test(segment) ? "***" : segment;
}
