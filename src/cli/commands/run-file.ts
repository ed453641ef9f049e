import { pathToFileURL } from "node:url";
import { McpError } from "../../protocol/errors.ts";
import type { Service } from "../../protocol/service.ts";
import { type Command, defineCommand } from "../command.ts";
import { UsageError } from "../usage-error.ts";

/** Serves what a file exports on stdio: the other end of a target that is a file. */
export const command: Command = defineCommand({
  name: "run-file",
  usage: ["<file>"],
  description: "Serves the server that a file exports on stdio. plugbay starts it for targets that are files.",
  options: {},
  examples: [
    { line: "plugbay run-file ./server.js", does: "serve what the file exports" },
    { line: "plugbay tools ./server.js", does: "what it is for" },
  ],
  maxArguments: 1,
  async run({ args: [path], signal }) {
    if (path === undefined) throw new UsageError("plugbay run-file needs a file");
    const exported: Readonly<Record<string, unknown>> = await import(pathToFileURL(path).href).catch(
      (error: unknown) => {
        throw new McpError("invalid-definition", `${path} cannot be loaded: ${whereOf(error)}`, { cause: error });
      },
    );
    const service = serviceIn(exported);
    // A file that serves by itself has begun to read.
    if (isServing()) return whenOver(signal);
    if (service === undefined) return whenServing(path, signal);
    const { serveStdio } = await import("../../transport/node/stdio.ts");
    const handle = await serveStdio(service);
    await handle.closed;
    return undefined;
  },
});

/** What went wrong, and the first places of the stack before those of Node: the file is the user's own. */
function whereOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const lines = (error.stack ?? error.message).split("\n");
  const end = lines.findIndex((line) => /^ {4}at .*\(?node:internal\//.test(line));
  return lines.slice(0, end === -1 ? maxLines : Math.min(end, maxLines)).join("\n");
}

const maxLines = 8;

/** The default export if it is a server or a host, else the first one that is. */
function serviceIn(exported: Readonly<Record<string, unknown>>): Service | undefined {
  return [exported.default, ...Object.values(exported)].find(isService);
}

/** A server is a function with its description, a host one with its servers. No other function is called. */
function isService(value: unknown): value is Service {
  if (typeof value !== "function") return false;
  return ("info" in value && "tools" in value) || ("servers" in value && "callTool" in value);
}

function isServing(): boolean {
  return ["data", "readable"].some((event) => process.stdin.listenerCount(event) > 0);
}

/** A file may begin to serve a moment after it was loaded. It has not when nothing is left that it could wait for. */
function whenServing(path: string, signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      const message = `${path} exports no server, and does not serve on stdio`;
      reject(new McpError("invalid-definition", `${message}; export one: export const server = createServer({ … })`));
    };
    process.once("beforeExit", end);
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}

function whenOver(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    process.stdin.once("close", () => resolve(undefined));
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}
