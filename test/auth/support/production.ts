import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { createLog, type Log } from "../../e2e/support/events.ts";
import { root, script } from "../../e2e/support/places.ts";
import { textOf } from "../../e2e/support/run.ts";
import { quietPort } from "../../support/quiet-port.ts";

/** A process of the example. */
export interface ProductionServer {
  readonly name: string;
  readonly pid: number;
  /** Where health and metrics are. */
  readonly watched: string;
}

/** What a process prints, a line each: a span, an event of the audit, or a text. */
export interface Printed {
  readonly from: string;
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The example as it is started by hand. */
export interface Production extends AsyncDisposable {
  readonly origin: string;
  readonly url: string;
  /** Where machines get tokens. */
  readonly tokenUrl: string;
  readonly servers: readonly [ProductionServer, ProductionServer];
  readonly printed: Log<Printed>;
  /** Ends it as Ctrl-C does, and resolves with how it ended. */
  stop(): Promise<unknown>;
  stderr(): string;
}

export async function startProduction(env: Readonly<Record<string, string>>): Promise<Production> {
  const PORT = String(await quietPort());
  const { command, args } = script("examples/production/start.mjs");
  const child = spawn(command, args, { cwd: root, stdio: "pipe", env: { PATH: process.env.PATH, ...env, PORT } });
  const ended = once(child, "close");
  const stderr = textOf(child.stderr);
  const printed = createLog<Printed>();
  createInterface({ input: child.stdout }).on("line", (line) => printed.add(read(line)));

  const says = async (pattern: RegExp): Promise<readonly string[]> => {
    const failed = ended.then(() => Promise.reject(new Error(`the example has ended: ${stderr()}`)));
    const found = await Promise.race([printed.find(({ text }) => pattern.test(text)), failed]);
    return pattern.exec(found.text) ?? [];
  };
  const serverOf = async (name: string): Promise<ProductionServer> => {
    const [, pid, watched = ""] = await says(new RegExp(`^server ${name}: process (\\d+), (\\S+)/metrics`));
    return { name, pid: Number(pid), watched };
  };
  const stop = (): Promise<unknown> => {
    child.kill("SIGINT");
    return ended;
  };
  try {
    await says(/^ready: /);
    const [, tokenUrl = ""] = await says(/^tokens for machines: (\S+)/);
    const origin = `http://127.0.0.1:${PORT}`;
    return {
      origin,
      url: `${origin}/mcp`,
      tokenUrl,
      servers: [await serverOf("one"), await serverOf("two")],
      printed,
      stop,
      stderr,
      async [Symbol.asyncDispose]() {
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function read(line: string): Printed {
  const [, from = "", text = line] = /^(\w+) \| (.*)$/.exec(line) ?? [];
  return { from, text, data: text.startsWith("{") ? JSON.parse(text) : {} };
}
