import { isObject } from "../../json/json.ts";
import { parseJson } from "../../json/parse.ts";
import { newestLegacy } from "../../protocol/revision.ts";
import { systemClock } from "../../std/clock.ts";
import { holding } from "../../std/hold.ts";
import { createLineSplitter } from "../../std/lines.ts";
import type { Command } from "../../transport/command.ts";
import { findProgram } from "../../transport/node/program.ts";
import { type ExitReport, spawnProcess } from "../../transport/node/spawn.ts";
import { startProblem } from "../../transport/node/start-problem.ts";
import { oneLine } from "../terminal/printable.ts";
import type { Ladder } from "./step.ts";

export interface ProgramOptions {
  /** How long connecting may take. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly env: NodeJS.ProcessEnv;
}

/** Checks that a program is there, starts, and writes nothing but messages to stdout. */
export async function checkProgram(command: Command, ladder: Ladder, options: ProgramOptions): Promise<undefined> {
  const { path } = await findProgram(command);
  if (path === undefined) {
    const { text } = startProblem(command, Object.assign(new Error("not found"), { code: "ENOENT" }));
    const hint = "check the spelling, install it, or give the whole path: a host may have another PATH";
    return ladder.fail("program", `the program ${oneLine(command.command)} cannot be found: ${text}`, hint);
  }
  ladder.ok("program", `${oneLine(command.command)} is ${path}`);
  const empty = Object.entries(command.env ?? {}).filter(([, value]) => value === "" || /^\$\{?\w+\}?$/.test(value));
  if (empty.length > 0)
    ladder.warn(
      "environment",
      `${empty.map(([name]) => name).join(", ")} has no value`,
      "set it where the host is started",
    );
  judge(await tryProgram(command, options), ladder, options);
}

/** What a program did when it was greeted. */
interface Trial {
  /** When it answered, in milliseconds after its start. */
  readonly answeredMs: number | undefined;
  /** How it ended before it answered. */
  readonly report: ExitReport | undefined;
  /** The first line of stdout that is no message. */
  readonly noise: string | undefined;
  readonly stderr: string;
}

/** Servers of every age answer this opening, if only to refuse it. */
const greeting = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: newestLegacy, capabilities: {}, clientInfo: { name: "plugbay-doctor", version: "1" } },
});

/** One that is slow is waited for longer than a host would, to tell it from one that is mute. */
const patience = 3;

async function tryProgram(command: Command, { timeoutMs, signal }: ProgramOptions): Promise<Trial> {
  const start = performance.now();
  const child = spawnProcess({ ...command, stderr: "keep" });
  const splitter = createLineSplitter();
  let noise: string | undefined;
  const answered = new Promise<number | undefined>((resolve) => {
    child.stdout.on("data", (chunk: Uint8Array) => {
      for (const line of splitter.push(chunk)) {
        if (typeof line === "string" && isMessage(line)) resolve(performance.now() - start);
        else noise ??= typeof line === "string" ? line : "(a line that cannot be read)";
      }
    });
    systemClock.after(timeoutMs * patience, () => resolve(undefined));
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
  child.stdin.on("error", () => {});
  child.stdin.write(`${greeting}\n`);
  const first = await holding(systemClock, Promise.race([answered, child.exited]));
  child.stdin.end();
  const stderr = child.stderrTail();
  await holding(systemClock, child.stop());
  const isReport = typeof first === "object";
  return { answeredMs: isReport ? undefined : first, report: isReport ? first : undefined, noise, stderr };
}

function isMessage(line: string): boolean {
  const parsed = parseJson(line);
  return parsed.ok && [parsed.value].flat().some((one) => isObject(one) && one.jsonrpc === "2.0");
}

function judge({ answeredMs, report, noise, stderr }: Trial, ladder: Ladder, options: ProgramOptions): undefined {
  if (report !== undefined) return judgeExit(report, ladder, options);
  if (noise !== undefined) {
    const message = `the server writes to stdout what is no message: ${JSON.stringify(oneLine(noise, 100))}`;
    const hint = "stdout belongs to the protocol: write logs to stderr (console.error)";
    if (answeredMs === undefined) return ladder.fail("stdout", message, hint);
    ladder.warn("stdout", `${message}; some hosts give up at this`, hint);
  }
  if (answeredMs === undefined) {
    const said = stderr.trim() === "" ? "" : `; stderr: ${oneLine(lastLine(stderr))}`;
    const message = `the program runs, and did not answer within ${options.timeoutMs * patience} ms${said}`;
    return ladder.fail("spawn", message, "is it an MCP server on stdio? It may need an argument such as stdio");
  }
  const took = `${Math.round(answeredMs)} ms`;
  if (answeredMs > options.timeoutMs) {
    const message = `the server starts too slowly: it answered after ${took}, and connecting may take ${options.timeoutMs} ms`;
    return ladder.fail("spawn", message, `raise the limit: --connect-timeout ${Math.ceil((answeredMs * 2) / 1000)}s`);
  }
  if (noise === undefined) ladder.ok("stdout", "has messages only");
  if (answeredMs > slowMs)
    ladder.warn("spawn", `the server needs ${took} to start`, "install it instead of npx, or load less at start");
  else ladder.ok("spawn", `answers ${took} after its start`);
}

/** Some hosts give a server no more than this. */
const slowMs = 5_000;

function judgeExit(report: ExitReport, ladder: Ladder, { env }: ProgramOptions): undefined {
  if (report.kind === "not-started")
    return ladder.fail(
      "spawn",
      `the program cannot be started: ${report.problem.text}`,
      "check the file and its rights",
    );
  const { exitCode, signal, stderr } = report;
  const how = signal === null ? `ended with code ${exitCode}` : `was killed by ${signal}`;
  const name = missingVariable(stderr);
  if (name !== undefined) {
    const isOurs = (env[name] ?? "") !== "";
    const hint = isOurs
      ? `you have it: pass it on with --env ${name}`
      : `set it with --env ${name}=…, or in env of the configuration`;
    return ladder.fail(
      "environment",
      `the server misses the variable ${name}: ${oneLine(lineWith(stderr, name))}`,
      hint,
    );
  }
  const said = stderr.trim() === "" ? "and said nothing on stderr" : `stderr: ${oneLine(lastLine(stderr))}`;
  ladder.fail("spawn", `the program ${how} before it answered; ${said}`, "run it in a shell, and correct what it says");
}

/** The variable that a program says it lacks. */
function missingVariable(stderr: string): string | undefined {
  const lacks =
    /\b(?:missing|required|not set|unset|undefined|not defined|must be set|must set|need|no value|set the|provide|please set)/i;
  const line = stderr.split("\n").find((one) => lacks.test(one) && variable.test(one));
  return line === undefined ? undefined : variable.exec(line)?.[0];
}

const variable = /\b[A-Z][A-Z\d]*_[A-Z\d_]*[A-Z\d]\b/;

function lineWith(text: string, part: string): string {
  return text.split("\n").find((line) => line.includes(part)) ?? "";
}

/** What a program said last, without the frames of a stack. */
function lastLine(text: string): string {
  const lines = text.split("\n").filter((line) => line.trim() !== "" && !/^\s+at |^Node\.js v\d/.test(line));
  return (
    lines.find((line) => /^(?:Uncaught )?\w*(?:Error|Exception)\b|^(?:error|fatal|panic)\b/i.test(line)) ??
    lines.at(-1) ??
    ""
  );
}
