import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** A program and its arguments, in the form every client here takes. */
export interface Program {
  readonly command: string;
  readonly args: string[];
}

/** The root of the repository. */
export const root: string = resolve(fileURLToPath(import.meta.url), "../../../..");

/** Runs a script of the repository with this Node. */
export function script(path: string, ...args: readonly string[]): Program {
  return { command: process.execPath, args: [join(root, path), ...args] };
}

/** Runs a binary of an installed package, without the shell script around it. */
export function installed(name: string, ...args: readonly string[]): Program {
  return script(join("node_modules", ".bin", name), ...args);
}

/** Our server with a bit of everything, over stdio. */
export const everything: Program = script("test/fixtures/everything-server.mjs", "--stdio");
