import { createHash } from "node:crypto";
import type { CommandContext } from "../command.ts";
import type { WarmTarget } from "./messages.ts";

/**
 * Names a target: a digest of everything that decides which server answers, and as whom. Of the environment these are `PATH`
 * and the variables that are passed on by name.
 */
export function warmIdOf(
  { entry, revision, tokens, oauth }: WarmTarget,
  { env, cwd }: Pick<CommandContext, "env" | "cwd">,
): string {
  const place = "url" in entry ? {} : { cwd, variables: variablesOf(entry, env) };
  const parts = { format, entry, revision, tokens, oauth, ...place };
  return createHash("sha256")
    .update(JSON.stringify(sorted(parts)))
    .digest("hex")
    .slice(0, 32);
}

/** Changes with what is in the digest. */
const format = 1;

function variablesOf(
  { inheritEnv = [] }: { readonly inheritEnv?: readonly string[] | undefined },
  env: NodeJS.ProcessEnv,
) {
  const names = ["PATH", ...inheritEnv].filter((name) => !changing.has(name));
  return Object.fromEntries(names.map((name) => [name, env[name]]));
}

/** Variables of a shell that say nothing about a server. */
const changing = new Set(["_", "OLDPWD", "PWD", "SHLVL", "PLUGBAY_WARM"]);

/** The same value with the members of all objects in one order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, sorted(member)]));
}
