import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Command } from "../command.ts";
import { hideSecretArgs } from "./hide-secrets.ts";

/** The command as a person would type it, shortened, without secrets. */
export function commandText({ command, args = [] }: Command): string {
  const text = [command, ...hideSecretArgs(args)].join(" ");
  return text.length > maxTextChars ? `${text.slice(0, maxTextChars)}...` : text;
}

const maxTextChars = 200;

export interface Program {
  readonly file: string;
  readonly args: readonly string[];
}

export interface System {
  readonly platform: NodeJS.Platform;
  readonly execPath: string;
}

/**
 * What the system can start without a shell.
 *
 * On Windows `npm` and `npx` are batch files, and those run only in a shell,
 * which would interpret the arguments; so Node runs their scripts itself.
 */
export function toProgram({ command, args = [] }: Command, system: System = process): Program {
  const name = system.platform === "win32" ? /^(npm|npx)(\.cmd)?$/i.exec(command)?.[1] : undefined;
  if (name === undefined) return { file: command, args };
  const script = join(dirname(system.execPath), "node_modules", "npm", "bin", `${name.toLowerCase()}-cli.js`);
  return existsSync(script) ? { file: system.execPath, args: [script, ...args] } : { file: command, args };
}

/** Why a command could not be started, for people. `code` is the one of the system. */
export function startProblem({ command, cwd }: Command, { code, message }: NodeJS.ErrnoException): string {
  if (cwd !== undefined && !existsSync(cwd)) return `working directory "${cwd}" does not exist`;
  if (code === "EINVAL" && /\.(cmd|bat)$/i.test(command)) return "a batch file needs a shell; start what it runs";
  return (code && startProblems[code]) ?? code ?? message;
}

const startProblems: Readonly<Record<string, string>> = {
  ENOENT: "command not found",
  EACCES: "permission denied",
  EPERM: "permission denied",
  ENOTDIR: "its path, or the working directory, is not a directory",
  ENOEXEC: "not an executable file",
  E2BIG: "arguments and environment are too long",
  EAGAIN: "too many processes",
  EMFILE: "too many open files",
  ENFILE: "too many open files",
  ENOMEM: "out of memory",
};
