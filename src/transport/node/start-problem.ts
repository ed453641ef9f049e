import { accessSync, closeSync, constants, existsSync, openSync, readSync, statSync } from "node:fs";
import type { Command } from "../command.ts";
import { candidates, type ProgramSource } from "./program.ts";

/** Why a program could not be started: `data.reason` of the error. */
export type StartReason =
  | "program-not-found"
  | "not-executable"
  | "interpreter-not-found"
  | "permission-denied"
  | "no-such-folder"
  | "not-started";

export interface StartProblem {
  readonly reason: StartReason;
  /** For people. */
  readonly text: string;
}

/** Why a command could not be started. `code` is the one of the system. */
export function startProblem(
  command: Command,
  { code, message }: NodeJS.ErrnoException,
  source: ProgramSource = process,
): StartProblem {
  const { cwd } = command;
  if (cwd !== undefined && !existsSync(cwd)) {
    return { reason: "no-such-folder", text: `working directory "${cwd}" does not exist` };
  }
  if (code === "ENOENT") return missing(command, fileOf(command, source));
  if (code === "EACCES" || code === "EPERM") return refused(fileOf(command, source));
  if (code === "EINVAL" && /\.(cmd|bat)$/i.test(command.command)) {
    return { reason: "not-executable", text: "a batch file needs a shell; start what it runs" };
  }
  return { reason: "not-started", text: (code && otherProblems[code]) ?? code ?? message };
}

/** What the command leads to first, whether it can be started or not. */
function fileOf(command: Command, source: ProgramSource): string | undefined {
  return candidates(command, source).find((path) => existsSync(path));
}

function missing({ command }: Command, file: string | undefined): StartProblem {
  if (file === undefined) {
    const text = /[\\/]/.test(command) ? "no such file" : "command not found: it is not in PATH";
    return { reason: "program-not-found", text: `${text}${/\s/.test(command) ? "; put its arguments into args" : ""}` };
  }
  const interpreter = interpreterOf(file) ?? "that it needs";
  return { reason: "interpreter-not-found", text: `the interpreter ${interpreter} does not exist` };
}

function refused(file: string | undefined): StartProblem {
  if (file !== undefined && statSync(file, { throwIfNoEntry: false })?.isDirectory()) {
    return { reason: "not-executable", text: `${file} is a directory` };
  }
  if (file !== undefined && !isExecutable(file)) {
    return { reason: "not-executable", text: `the file ${file} is not executable` };
  }
  return { reason: "permission-denied", text: "permission denied" };
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** What the first line of a script names. */
function interpreterOf(file: string): string | undefined {
  try {
    const start = Buffer.alloc(256);
    const handle = openSync(file, "r");
    const size = readSync(handle, start);
    closeSync(handle);
    return /^#!\s*(\S+)/.exec(start.toString("utf8", 0, size))?.[1];
  } catch {
    return undefined;
  }
}

const otherProblems: Readonly<Record<string, string>> = {
  ENOTDIR: "its path, or the working directory, is not a directory",
  ENOEXEC: "not an executable file",
  E2BIG: "arguments and environment are too long",
  EAGAIN: "too many processes",
  EMFILE: "too many open files",
  ENFILE: "too many open files",
  ENOMEM: "out of memory",
};
