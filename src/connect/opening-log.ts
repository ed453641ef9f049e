import { isObject, type JsonObject } from "../json/json.ts";
import { McpError } from "../protocol/errors.ts";
import type { Clock } from "../std/clock.ts";

/** Which openings were tried with a server while connecting, and how it answered each. */
export interface OpeningLog {
  /** Notes that an opening is tried. What it returns notes the answer. */
  trying(opening: string): (answer: string) => void;
  /** The error of a server that did not answer in time. */
  tooLate(): McpError;
  /** The error of connecting, with what was tried. */
  explain(error: unknown): unknown;
}

interface Attempt {
  readonly opening: string;
  readonly startedAt: number;
  answer: string | undefined;
  ms: number | undefined;
}

export interface OpeningLogOptions {
  readonly clock: Clock;
  /** What is connected to, for people. */
  readonly what: string;
  readonly timeoutMs: number;
}

export function createOpeningLog({ clock, what, timeoutMs }: OpeningLogOptions): OpeningLog {
  const attempts: Attempt[] = [];

  /** A copy of the log. Requests without a response so far count as unanswered. */
  const read = (): readonly Tried[] =>
    attempts.map(({ opening, startedAt, answer = "no answer", ms = clock.now() - startedAt }) => ({
      opening,
      answer,
      ms: Math.round(ms),
    }));

  const tooLate = (): McpError => {
    const tried = read();
    const message = `${what} did not answer within ${timeoutMs} ms; connectTimeoutMs sets the limit${list(tried)}`;
    return new McpError("timeout", message, { data: { phase: "connect", timeoutMs, attempts: asData(tried) } });
  };

  return {
    trying(opening) {
      const attempt: Attempt = { opening, startedAt: clock.now(), answer: undefined, ms: undefined };
      attempts.push(attempt);
      return (answer) => {
        attempt.answer = oneLine(answer);
        attempt.ms = clock.now() - attempt.startedAt;
      };
    },
    tooLate,
    explain(error) {
      const tried = read();
      if (!(error instanceof McpError) || unreported.has(error.code) || tried.length === 0) return error;
      if (error.code !== "timeout") return withAttempts(error, what, tried);
      return isObject(error.data) && "phase" in error.data ? error : tooLate();
    },
  };
}

function withAttempts(error: McpError, what: string, tried: readonly Tried[]): McpError {
  const { code, message, data = {}, number, cause = error } = error;
  // `connection-closed` names the server already, and the log of a single attempt adds nothing to it.
  const isNamed = code === "connection-closed";
  if (isNamed && tried.length === 1) return error;
  const text = `${isNamed ? "" : `cannot connect to ${what}: `}${message}${list(tried, message)}${hintFor(error, what)}`;
  const told = isObject(data) ? { ...data, attempts: asData(tried) } : data;
  return new McpError(code, text, { data: told, cause, ...(number !== undefined && { number }) });
}

/** There is a server at the URL, and most likely not at this path. */
function hintFor({ code, data }: McpError, what: string): string {
  const isAbsent = code === "http-error" && isObject(data) && (data.status === 404 || data.status === 405);
  return isAbsent && /^https?:/.test(what) ? "; check the path of the URL" : "";
}

interface Tried {
  readonly opening: string;
  readonly answer: string;
  readonly ms: number;
}

/** Errors that are about the caller. */
const unreported: ReadonlySet<string> = new Set(["cancelled", "invalid-params"]);

/** What was tried, and each answer that is not in `said`. */
function list(tried: readonly Tried[], said = ""): string {
  if (tried.length === 0) return "";
  const parts = tried.map(({ opening, answer, ms }) =>
    said.includes(answer) ? `${opening} (${ms} ms)` : `${opening} (${ms} ms: ${answer})`,
  );
  return `; tried ${parts.join(", ")}`;
}

function asData(tried: readonly Tried[]): readonly JsonObject[] {
  return tried.map(({ opening, answer, ms }) => ({ opening, answer, ms }));
}

/** The beginning of an error message of the server, as one line. */
function oneLine(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > maxChars ? `${line.slice(0, maxChars)}…` : line;
}

const maxChars = 200;
