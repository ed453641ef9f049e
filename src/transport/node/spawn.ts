import { type ChildProcess, spawn } from "node:child_process";
import { Socket } from "node:net";
import { PassThrough, type Readable, type Writable } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import type { JsonObject } from "../../json/json.ts";
import { type Clock, systemClock } from "../../std/clock.ts";
import { maskText } from "../../std/secrets.ts";
import type { Command } from "../command.ts";
import { endGroup, processGroup } from "./process-group.ts";
import { childEnv, commandMask, toProgram } from "./program.ts";
import { type StartProblem, startProblem } from "./start-problem.ts";

/** A running program, or one that could not be started: then `exited` says why and the streams are closed. */
interface Subprocess {
  readonly pid: number | undefined;
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Resolves when the program is gone. Never rejects. */
  readonly exited: Promise<ExitReport>;
  /** The last lines of its stderr. */
  stderrTail(): string;
  /**
   * Ends it and whatever it started: a second to end by itself, a second after
   * SIGTERM, then SIGKILL. Closing its stdin before is up to the caller.
   * Idempotent, never rejects.
   */
  stop(): Promise<void>;
}

/**
 * Starts a program without a shell, with the safe part of our environment, as
 * the leader of its own process group. What it leaves behind when it ends, or
 * when we do, is ended too. Never throws.
 */
export function spawnProcess(command: Command, clock: Clock = systemClock): Subprocess {
  const child = start(command);
  if (child instanceof Error) return deadProcess(problemOf(command, child));

  const { pid, stdin, stdout, stderr } = child;
  const stderrTail = keepTail(stderr, command);
  const ended = whenEnded(child, command);
  const stop = stopper(child, ended, clock);
  void ended.then(() => {
    void stop();
    closeWhenQuiet(stdout, clock);
    closeWhenQuiet(stderr, clock);
  });

  return {
    pid,
    stdin: stdin ?? closedStream(),
    stdout: stdout ?? closedStream(),
    exited: Promise.all([ended, whenClosed(stderr)]).then(([end]) => toReport(end, stderrTail())),
    stderrTail,
    stop,
  };
}

function start(command: Command): ChildProcess | Error {
  const { file, args } = toProgram(command);
  try {
    return spawn(file, args, {
      cwd: command.cwd,
      env: childEnv(command),
      stdio: ["pipe", "pipe", command.stderr === "inherit" ? "inherit" : "pipe"],
      detached: process.platform !== "win32",
      windowsHide: true,
    });
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function problemOf(command: Command, error: Error): StartProblem {
  const { reason, text } = startProblem(command, error);
  return { reason, text: commandMask(command)(text) };
}

function deadProcess(problem: StartProblem): Subprocess {
  return {
    pid: undefined,
    stdin: closedStream(),
    stdout: closedStream(),
    exited: Promise.resolve({ kind: "not-started", problem }),
    stderrTail: () => "",
    stop: async () => {},
  };
}

function closedStream(): PassThrough {
  return new PassThrough().destroy();
}

/** Reads all of stderr, so that the child never waits for us, and remembers the end of it. */
function keepTail(stderr: Readable | null, command: Command): () => string {
  const tail = createTextTail({ maxChars: 8192, maxLines: 64, mask: commandMask(command) });
  const decoder = new TextDecoder();
  const report = typeof command.stderr === "function" ? command.stderr : undefined;
  stderr?.on("data", (chunk: Uint8Array) => {
    const text = decoder.decode(chunk, { stream: true });
    tail.append(text);
    report?.(text);
  });
  stderr?.on("error", () => {});
  return () => maskText(tail.text());
}

type End =
  | { readonly kind: "exited"; readonly exitCode: number | null; readonly signal: string | null }
  | { readonly kind: "not-started"; readonly problem: StartProblem };

function whenEnded(child: ChildProcess, command: Command): Promise<End> {
  return new Promise((resolve) => {
    child.on("exit", (exitCode, signal) => resolve({ kind: "exited", exitCode, signal }));
    child.on("error", (error) => {
      if (child.pid === undefined) resolve({ kind: "not-started", problem: problemOf(command, error) });
    });
  });
}

function toReport(end: End, stderr: string): ExitReport {
  return end.kind === "exited" ? { ...end, stderr } : end;
}

function stopper(child: ChildProcess, ended: Promise<End>, clock: Clock): () => Promise<void> {
  const { pid, stdin } = child;
  if (pid === undefined) return async () => {};
  const group = processGroup(child, pid);
  let stopping: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    await endGroup(group, ended, clock);
    stdin?.destroy();
  };
  return () => {
    stopping ??= stop();
    return stopping;
  };
}

function whenClosed(stream: Readable | null): Promise<void> {
  return new Promise((resolve) => {
    if (!stream || stream.closed) resolve();
    else stream.on("close", resolve);
  });
}

/**
 * Closes a stream of a child that is gone, should somebody else hold it open.
 *
 * Nothing is lost: what the child wrote is there to be read at once, so a
 * stream that is being read and gives nothing has nothing left of it.
 */
function closeWhenQuiet(stream: Readable | null, clock: Clock): void {
  if (!(stream instanceof Socket)) return;
  let before: number | undefined;
  const look = (): void => {
    if (stream.destroyed) return;
    const now = stream.isPaused() ? undefined : stream.bytesRead;
    if (now !== undefined && now === before) {
      stream.destroy();
      return;
    }
    before = now;
    clock.after(quietMs, look);
  };
  look();
}

const quietMs = 100;

/** How the life of a child ended. */
export type ExitReport =
  | {
      readonly kind: "exited";
      readonly exitCode: number | null;
      /** The signal that killed it. */
      readonly signal: string | null;
      /** The last lines it wrote to stderr. */
      readonly stderr: string;
    }
  | { readonly kind: "not-started"; readonly problem: StartProblem };

export interface ExitContext {
  /** The command, as it may be shown. */
  readonly command: string;
  /** Whether the child ever sent a message. */
  readonly answered: boolean;
  /** Whether the child wrote something else to stdout before its first message. */
  readonly strayed?: boolean;
}

/** The error of calls whose child process has ended. */
export function describeExit(report: ExitReport, { command, answered, strayed = false }: ExitContext): ExitDescription {
  if (report.kind === "not-started") {
    const { text, reason } = report.problem;
    return { message: `cannot start "${command}": ${text}`, data: { reason } };
  }
  const { exitCode, signal, stderr } = report;
  const how = signal === null ? `exited with code ${exitCode}` : `was killed by ${signal}`;
  const said = lastChars(printable(stderr), maxMessageChars);
  const before = answered ? "" : ` before answering${strayed ? `; ${strayOutput}` : ""}`;
  return {
    message: `server "${command}" ${how}${before}${said && `; stderr: ${said}`}`,
    data: { exitCode, signal, stderr },
  };
}

interface ExitDescription {
  readonly message: string;
  readonly data?: JsonObject;
}

/** The error for a server that has written to stdout and has not answered. */
export const strayOutput =
  "its stdout has lines that are not JSON-RPC; is it an MCP server, and do its logs go to stderr?";

const maxMessageChars = 1024;

/** Text without control characters, which is safe to print on a terminal. */
function printable(text: string): string {
  return stripVTControlCharacters(text)
    .replace(/[^\P{Cc}\n\t]/gu, "")
    .trim();
}

/** The end of a long text, in bounded memory. */
interface TextTail {
  append(text: string): void;
  /** The last lines. Never begins in the middle of a character. */
  text(): string;
}

interface TailLimits {
  readonly maxChars: number;
  readonly maxLines: number;
  /** Hides secrets, also where the text is cut. Must leave alone the beginning of a secret whose end is missing. */
  readonly mask?: (text: string) => string;
}

export function createTextTail({ maxChars, maxLines, mask = (text) => text }: TailLimits): TextTail {
  let kept = "";

  return {
    append(text) {
      kept += text;
      // Cutting once per `maxChars` keeps a flood of tiny writes cheap.
      if (kept.length > 2 * maxChars) kept = lastChars(mask(kept), maxChars);
    },
    text: () => lastLines(lastChars(mask(kept), maxChars), maxLines),
  };
}

/** The last `count` UTF-16 units of a text, one less if that would halve a character. */
function lastChars(text: string, count: number): string {
  if (text.length <= count) return text;
  const start = text.length - count;
  return text.slice(isLowSurrogate(text.charCodeAt(start)) ? start + 1 : start);
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

function lastLines(text: string, count: number): string {
  const afterLast = text.endsWith("\n") ? 1 : 0;
  return text
    .split("\n")
    .slice(-(count + afterLast))
    .join("\n");
}
