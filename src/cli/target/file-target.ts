import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { isObject } from "../../json/json.ts";
import { McpError } from "../../protocol/errors.ts";
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

/**
 * The error of a file that could not be connected to. A file that throws, or exports no server, is a definition that is
 * wrong, in the words of `run-file`; everything else stays the error that it is.
 */
export function fileError(error: unknown): unknown {
  if (!(error instanceof McpError) || !isObject(error.data) || error.data.exitCode !== 2) return error;
  const [, message] = toldByRunFile.exec(String(error.data.stderr)) ?? [];
  return message === undefined ? error : new McpError("invalid-definition", message);
}

/** How the frame tells of the error that `run-file` throws. */
const toldByRunFile = /^error: (.*) \(invalid-definition\)$/ms;

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
