import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import type { Command } from "../../transport/command.ts";
import { UsageError } from "../usage-error.ts";

/**
 * The command that serves what a file exports on stdio. A file runs in a process of its own: what it writes, and how it
 * ends, is that of any other server, and one that serves on stdio by itself works as well.
 */
export function fileCommand(path: string, env: NodeJS.ProcessEnv): Command {
  const own = process.argv[1] ?? "";
  const args = [...nodeFlags(path), own, "run-file", path];
  // It is the user's own program: it sees what it would see when the user started it.
  return { command: process.execPath, args, inheritEnv: Object.keys(env) };
}

/** What Node needs to run a file: nothing for JavaScript. Throws where it cannot run TypeScript. */
export function nodeFlags(path: string): readonly string[] {
  if (!/\.[cm]?ts$/.test(path)) return [];
  const { typescript } = process.features as { readonly typescript?: string | false };
  if (typeof typescript === "string") return [];
  if (process.allowedNodeEnvironmentFlags.has("--experimental-strip-types")) return ["--experimental-strip-types"];
  try {
    const loader = createRequire(path).resolve("tsx");
    return ["--import", pathToFileURL(loader).href];
  } catch {
    const hint = "use Node 22.18 or newer, or run npm i -D tsx in the folder of the file";
    throw new UsageError(`this Node (${process.version}) cannot run ${path}: it knows no TypeScript`, hint);
  }
}
