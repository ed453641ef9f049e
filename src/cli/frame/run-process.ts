import type { ExitCode } from "../command.ts";
import { createInterrupt } from "./interrupt.ts";
import { runCommandLine } from "./run-command-line.ts";

/**
 * Runs a command line in this process, and ends the process with its exit code.
 *
 * The process is not left to end by itself: a socket that is kept alive, or a program that takes its time to leave, would
 * make every command slow. What was written is flushed first, and programs do not outlive the process.
 */
export async function runProcess(argv: readonly string[]): Promise<void> {
  const { stdin, stdout, stderr, env } = process;
  // Whoever reads the output may stop early, such as `head`. That is no failure.
  for (const stream of [stdout, stderr]) stream.on("error", () => process.exit(0));
  const interrupt = createInterrupt((code) => process.exit(code));
  const code = await runCommandLine(argv, { stdin, stdout, stderr, env, cwd: process.cwd(), interrupt });
  await Promise.all([flush(stdout), flush(stderr)]);
  exit(code);
}

function flush(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    stream.write("", () => resolve());
  });
}

function exit(code: ExitCode): void {
  process.exit(code);
}
