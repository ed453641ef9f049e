import { type ChildProcess, spawn } from "node:child_process";
import { Socket } from "node:net";
import { PassThrough, type Readable, type Writable } from "node:stream";
import { type Clock, systemClock } from "../../std/clock.ts";
import type { Command } from "../command.ts";
import { childEnv } from "./child-env.ts";
import type { ExitReport } from "./child-exit.ts";
import { startProblem, toProgram } from "./command.ts";
import { hideSecretValues } from "./hide-secrets.ts";
import { endGroup, processGroup } from "./process-group.ts";
import { createTextTail } from "./text-tail.ts";

/** A running program, or one that could not be started: then `exited` says why and the streams are closed. */
export interface Subprocess {
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
  if (child instanceof Error) return deadProcess(startProblem(command, child));

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

function deadProcess(reason: string): Subprocess {
  return {
    pid: undefined,
    stdin: closedStream(),
    stdout: closedStream(),
    exited: Promise.resolve({ kind: "not-started", reason }),
    stderrTail: () => "",
    stop: async () => {},
  };
}

function closedStream(): PassThrough {
  return new PassThrough().destroy();
}

/** Reads all of stderr, so that the child never waits for us, and remembers the end of it. */
function keepTail(stderr: Readable | null, command: Command): () => string {
  const tail = createTextTail({ maxChars: 8192, maxLines: 64 });
  const decoder = new TextDecoder();
  const report = typeof command.stderr === "function" ? command.stderr : undefined;
  stderr?.on("data", (chunk: Uint8Array) => {
    const text = decoder.decode(chunk, { stream: true });
    tail.append(text);
    report?.(text);
  });
  stderr?.on("error", () => {});
  return () => hideSecretValues(tail.text(), command.env ?? {});
}

type End =
  | { readonly kind: "exited"; readonly exitCode: number | null; readonly signal: string | null }
  | { readonly kind: "not-started"; readonly reason: string };

function whenEnded(child: ChildProcess, command: Command): Promise<End> {
  return new Promise((resolve) => {
    child.on("exit", (exitCode, signal) => resolve({ kind: "exited", exitCode, signal }));
    child.on("error", (error) => {
      if (child.pid === undefined) resolve({ kind: "not-started", reason: startProblem(command, error) });
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
