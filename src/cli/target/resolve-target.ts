import { statSync } from "node:fs";
import { resolve } from "node:path";
import { maskArgs, maskUrl } from "../../std/secrets.ts";
import { splitWords } from "../../std/text.ts";
import { UsageError } from "../usage-error.ts";
import { fileCommand } from "./file-target.ts";
import type { ResolveContext, ResolvedTarget } from "./resolved-target.ts";
import type { TypedTarget } from "./typed-target.ts";

/** Finds out what a target is: a command, a URL, a file, or a name from a configuration file. */
export async function resolveTarget({ text, command }: TypedTarget, context: ResolveContext): Promise<ResolvedTarget> {
  if (command !== undefined) return ofCommand(command);
  if (isUrl(text)) return { entry: { url: text }, name: maskUrl(text) };
  const path = resolve(context.cwd, text);
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  if (isFile && sourceFile.test(text)) return { entry: fileCommand(path, context.env), name: text, isFile };
  if (looksLikePath(text) && !isFile && sourceFile.test(text) && !/\s/.test(text))
    throw new UsageError(`there is no file ${path}`);
  if (/\s/.test(text)) return ofCommand(wordsOf(text));
  // Configuration files are read only for names.
  const { namedTarget } = await import("./named-target.ts");
  return namedTarget(text, context);
}

const sourceFile = /\.[cm]?[jt]s$/;

function isUrl(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text);
}

function looksLikePath(text: string): boolean {
  return /[\\/]/.test(text) || sourceFile.test(text);
}

function ofCommand([command = "", ...args]: readonly string[]): ResolvedTarget {
  return { entry: { command, args }, name: [command, ...maskArgs(args)].join(" ") };
}

function wordsOf(text: string): readonly string[] {
  const words = splitWords(text);
  if (words !== undefined && words.length > 0) return words;
  throw new UsageError(`a quote is open in ${JSON.stringify(text)}`, "give the command after -- instead");
}
