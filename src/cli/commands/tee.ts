import { resolve } from "node:path";
import type { Readable, Writable } from "node:stream";
import { McpError } from "../../protocol/errors.ts";
import { systemClock } from "../../std/clock.ts";
import { holding } from "../../std/hold.ts";
import { createLineSplitter } from "../../std/lines.ts";
import { createMask, maskArgs, secretsInArgs } from "../../std/secrets.ts";
import { spawnProcess } from "../../transport/node/spawn.ts";
import { type Command, defineCommand } from "../command.ts";
import { createRecorder, type Recorder } from "../recording/recorder.ts";
import type { Sender } from "../recording/recording.ts";
import { oneLine } from "../terminal/printable.ts";
import { UsageError } from "../usage-error.ts";

export const command: Command = defineCommand({
  name: "tee",
  usage: ["<file> -- <command>"],
  description:
    "Stands between a host and a server on stdio: put it in front of the command in the configuration of the host. All bytes\n" +
    "pass as they are, and every message is written into the file, with the time and who sent it. Credentials are hidden in\n" +
    "the file, but not on their way. The file is that of plugbay record; plugbay replay reads it.",
  maxArguments: 1,
  options: { raw: { type: "flag", meaning: "hide nothing in the file" } },
  examples: [
    { line: "plugbay tee shop.ndjson -- npx -y some-server", does: "what a configuration file starts instead" },
    { line: "plugbay tee all.ndjson --raw -- node server.js", does: "the same, with credentials" },
  ],
  endsByInterrupt: true,
  async run(context) {
    const { args, rest, cwd, env, stdin, stdout, signal, options } = context;
    const [file] = args;
    const [program, ...programArgs] = rest;
    if (file === undefined || program === undefined)
      throw new UsageError("plugbay tee needs a file and a command", "write plugbay tee <file> -- <command>");
    const recorder = createRecorder(resolve(cwd, file), {
      of: [program, ...maskArgs(programArgs)].join(" "),
      mask: createMask(secretsInArgs(programArgs)),
      isRaw: options.raw,
      onProblem: context.say,
    });
    // It is what the host wants to start: it sees what the host wants it to see.
    const inheritEnv = Object.keys(env);
    const child = spawnProcess({ command: program, args: programArgs, cwd, inheritEnv, stderr: "inherit" });
    signal.addEventListener("abort", () => void child.stop(), { once: true });
    const output = pass(child.stdout, stdout, createTap("server", recorder));
    const input = pass(stdin, child.stdin, createTap("client", recorder)).then(() => {
      child.stdin.end();
      // One that does not end with its stdin would be left behind.
      setTimeout(() => void child.stop(), graceMs).unref();
    });
    const report = await holding(systemClock, child.exited);
    await output;
    await holding(systemClock, child.stop());
    stdin.destroy();
    await input;
    recorder.close();
    if (report.kind === "not-started")
      throw new McpError("connection-closed", `cannot start ${oneLine(program)}: ${report.problem.text}`);
    return report.exitCode === 0 || signal.aborted ? undefined : 1;
  },
});

/** How long a server may go on when the host has closed its stdin: answers may still be on their way. */
const graceMs = 10_000;

/** Passes bytes on at the pace of the slower side. Resolves when there are no more, or nobody takes them. */
async function pass(from: Readable, to: Writable, tap: Tap): Promise<void> {
  to.on("error", () => {});
  try {
    for await (const chunk of from) {
      tap.look(chunk);
      if (!to.writable) return;
      if (!to.write(chunk)) await drained(to);
    }
  } catch {
    // It was closed under us: there is nothing more to pass.
  } finally {
    tap.end();
  }
}

function drained(to: Writable): Promise<void> {
  return new Promise((done) => {
    const over = (): void => {
      to.off("drain", over).off("close", over);
      done();
    };
    to.on("drain", over).on("close", over);
  });
}

/** Records what passes. */
interface Tap {
  look(chunk: Uint8Array): void;
  /** Records a last line that has no line end: the other side may take it for a message. */
  end(): void;
}

function createTap(from: Sender, recorder: Recorder): Tap {
  const splitter = createLineSplitter();
  const look = (chunk: Uint8Array): void => {
    for (const line of splitter.push(chunk)) {
      if (typeof line === "string") recorder.line(from, line);
      else recorder.line(from, line.kind === "too-long" ? `${line.head}… (too long)` : "(not UTF-8)");
    }
  };
  return { look, end: () => look(lineFeed) };
}

const lineFeed = new Uint8Array([10]);
