import { maskArgs, maskUrl } from "../../std/secrets.ts";
import type { RunningBackground } from "./ask-background.ts";

/**
 * Whether somebody means this background process: by its target as it was typed, or by the beginning of its id. The same
 * program in another folder is another target; names of configuration files and URLs are the same everywhere.
 */
export function isNamed(
  { id, status }: Pick<RunningBackground, "id" | "status">,
  typed: string | readonly string[],
  cwd: string,
): boolean {
  if (typeof typed !== "string") {
    const [command = "", ...args] = typed;
    return status?.folder === cwd && status.names.includes([command, ...maskArgs(args)].join(" "));
  }
  if (/^[\da-f]{8,32}$/.test(typed) && id.startsWith(typed)) return true;
  const meant = [typed, typed.replace(/:.*/s, ""), maskUrl(typed)];
  return meant.some((name) => status?.names.includes(name) === true);
}
