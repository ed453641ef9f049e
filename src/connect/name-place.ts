import type { Command } from "../transport/command.ts";
import type { Place } from "./target.ts";

/**
 * Names where a server is, the same for all who connect there. Undefined for one
 * that nobody else can reach.
 *
 * Everything that decides which server answers is in it, and that may be secret,
 * such as a key in a URL: keep no more than a digest.
 */
export function namePlace(place: Place): string | undefined {
  switch (place.kind) {
    case "url":
      return JSON.stringify(["url", place.url.href.replace(/#.*/s, "")]);
    case "command":
      return nameCommand(place.command);
    case "service":
    case "channel":
      return undefined;
  }
}

/** A program is another one in another folder, and with other settings. */
function nameCommand({ command, args = [], cwd, env, inheritEnv = [] }: Command): string {
  const { process } = globalThis as { readonly process?: Surroundings };
  const inherited = inheritEnv.map((name) => [name, process?.env?.[name] ?? null] as const);
  const settings = Object.entries({ ...Object.fromEntries(inherited), ...env }).toSorted();
  return JSON.stringify(["command", command, args, cwd ?? "", process?.cwd?.() ?? "", settings]);
}

/** What a platform that starts programs has. */
interface Surroundings {
  readonly env?: Readonly<Record<string, string>>;
  cwd?(): string;
}
