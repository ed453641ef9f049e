import type { Writable } from "node:stream";

/** stderr for people: lines that stay, and below them one that changes. Where it is no terminal only lines that stay are written. */
export interface LiveLine {
  /** True where a line can change. */
  readonly isLive: boolean;
  readonly columns: number;
  /** Writes a line above the one that changes. */
  write(line: string): void;
  /** Replaces the line that changes. Does nothing where no line can change. */
  show(line: string): void;
  /** Takes the line that changes away. */
  clear(): void;
  /** Takes the line away and writes nothing, while a question has the terminal. What it returns writes what was kept back. */
  hold(): () => void;
}

interface LiveLineOptions {
  readonly isTerminal: boolean;
  columns(): number;
}

export function createLiveLine(stderr: Writable, { isTerminal, columns }: LiveLineOptions): LiveLine {
  let shown = "";
  let held: string[] | undefined;
  const erase = (): void => {
    if (shown !== "") stderr.write("\r\u001b[K");
  };
  const clear = (): void => {
    erase();
    shown = "";
  };

  return {
    isLive: isTerminal,
    get columns() {
      return columns();
    },
    write(line) {
      if (held !== undefined) {
        held.push(line);
        return;
      }
      erase();
      stderr.write(`${line}\n${shown}`);
    },
    show(line) {
      if (!isTerminal || held !== undefined || line === shown) return;
      erase();
      shown = line;
      stderr.write(line);
    },
    clear,
    hold() {
      clear();
      held ??= [];
      return () => {
        const lines = held ?? [];
        held = undefined;
        for (const line of lines) stderr.write(`${line}\n`);
      };
    },
  };
}
