import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";

interface ReadLineOptions {
  readonly input: Readable;
  readonly output: Writable;
  readonly prompt: string;
  /** Newest first. */
  readonly history: readonly string[];
  readonly signal: AbortSignal;
  complete(line: string): Promise<[string[], string]>;
  /** Hears of Ctrl-C on an empty line. */
  onInterrupt(): void;
}

/**
 * Reads one line of a terminal, with history and completion. Undefined at its end (Ctrl-D) or when the signal aborts.
 *
 * The terminal is given back after each line, so that a question may have it, and Ctrl-C ends what runs in between.
 */
export function readLine({
  input,
  output,
  prompt,
  history,
  signal,
  complete,
  onInterrupt,
}: ReadLineOptions): Promise<string | undefined> {
  return new Promise((resolve) => {
    const terminal = createInterface({
      input,
      output,
      terminal: true,
      history: [...history],
      historySize: 1000,
      removeHistoryDuplicates: true,
      completer: (line: string, done: (error: null, found: [string[], string]) => void) => {
        void complete(line).then((found) => done(null, found));
      },
    });
    let line: string | undefined;
    const close = (): void => terminal.close();
    terminal.on("SIGINT", () => {
      if (terminal.line === "") onInterrupt();
      terminal.write(null, { ctrl: true, name: "e" });
      terminal.write(null, { ctrl: true, name: "u" });
      terminal.prompt();
    });
    terminal.on("line", (typed) => {
      line = typed;
      close();
    });
    terminal.on("close", () => {
      signal.removeEventListener("abort", close);
      if (line === undefined) output.write("\n");
      resolve(line);
    });
    signal.addEventListener("abort", close, { once: true });
    terminal.setPrompt(prompt);
    terminal.prompt();
  });
}
