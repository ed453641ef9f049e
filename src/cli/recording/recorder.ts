import { closeSync, openSync, writeSync } from "node:fs";
import type { Json } from "../../json/json.ts";
import { parseJson } from "../../json/parse.ts";
import type { Mask } from "../../std/secrets.ts";
import { UsageError } from "../usage-error.ts";
import { formatEntry, type Sender } from "./recording.ts";
import { redactMessage } from "./redact-message.ts";

/** Writes what passes between a client and a server into a file. */
export interface Recorder {
  readonly count: number;
  /** A message. What cannot be written is told once, by `onProblem`, and nothing is written after it. Never throws. */
  message(from: Sender, message: Json): void;
  /** A line that may be a message. */
  line(from: Sender, line: string): void;
  close(): void;
}

interface RecorderOptions {
  /** What is recorded, for people. No secret is in it. */
  readonly of: string;
  /** Hides secrets that are known. */
  readonly mask: Mask;
  /** True keeps messages as they are. */
  readonly isRaw: boolean;
  onProblem(message: string): void;
}

/** A file grows no further. */
const maxBytes = 1_073_741_824;
/** What is no message is kept so far. */
const maxTextChars = 2_000;
const jsonLimits = { maxJsonDepth: 200, maxJsonNodes: 1_000_000 };

/**
 * Begins a recording: a file that only its owner may read. Throws a {@link UsageError} when it cannot be written. Every
 * entry is with the system when it is made, so that nothing is lost when the process is killed.
 */
export function createRecorder(path: string, { of, mask, isRaw, onProblem }: RecorderOptions): Recorder {
  const start = performance.now();
  let file: number | undefined = openFile(path);
  let [count, bytes] = [0, 0];

  const stop = (problem: string): void => {
    close();
    onProblem(`the recording ${path} ends here: ${problem}`);
  };
  const write = (line: string): void => {
    if (file === undefined) return;
    const data = Buffer.from(`${line}\n`);
    bytes += data.length;
    try {
      if (bytes > maxBytes) throw new Error(`it has ${maxBytes} bytes`);
      for (let done = 0; done < data.length; ) done += writeSync(file, data, done);
    } catch (error) {
      stop(error instanceof Error ? error.message : String(error));
    }
  };
  const close = (): void => {
    if (file !== undefined) closeSync(file);
    file = undefined;
  };
  const at = (): number => Math.round((performance.now() - start) * 1000) / 1000;
  const message = (from: Sender, value: Json): void => {
    count++;
    write(formatEntry({ at: at(), from, message: isRaw ? value : redactMessage(value, mask) }));
  };

  write(JSON.stringify({ recording: 1, of, startedAt: new Date().toISOString(), isRedacted: !isRaw }));
  return {
    get count() {
      return count;
    },
    message,
    line(from, line) {
      const parsed = parseJson(line, jsonLimits);
      if (parsed.ok && typeof parsed.value === "object" && parsed.value !== null) return message(from, parsed.value);
      const text = line.slice(0, maxTextChars);
      write(formatEntry({ at: at(), from, text: isRaw ? text : String(redactMessage(text, mask)) }));
    },
    close,
  };
}

function openFile(path: string): number {
  try {
    return openSync(path, "w", 0o600);
  } catch (error) {
    throw new UsageError(`${path} cannot be written: ${error instanceof Error ? error.message : String(error)}`);
  }
}
