import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { announce } from "../gateway/announce.ts";
import type { LogFormat } from "../gateway/gateway-log.ts";
import { type GatewayFlags, type ReadySettings, readGatewaySettings } from "../gateway/gateway-settings.ts";
import { findGatewaySources } from "../gateway/gateway-sources.ts";
import { UsageError } from "../usage-error.ts";

export const command: Command = defineCommand({
  name: "gateway",
  usage: ["[file…]", "[file…] --stdio"],
  description:
    "Serves all servers of configuration files as one, at a URL of this machine, for clients of every revision. Without a\n" +
    "file it takes those of this folder, such as mcp.json, and where there are none it serves a demo. Files are read again\n" +
    "when they change; calls that run are not disturbed. /healthz, /readyz, /status and /metrics are served beside it. With\n" +
    "--options a JSON file, or a module, says more: { gateway: options of openGateway, serve: options of serveHttp, auth, store }.",
  maxArguments: 16,
  endsByInterrupt: true,
  options: {
    port: { type: "number", short: "p", meaning: "the port; 3000, 0 takes a free one" },
    host: { type: "text", value: "address", meaning: "the address to listen on; 127.0.0.1" },
    "allowed-host": { type: "texts", value: "name", meaning: "a name by which clients reach it; may be repeated" },
    issuer: { type: "text", value: "url", meaning: "callers need a token of this issuer" },
    audience: { type: "text", value: "url", meaning: "what the tokens have to be for: the URL of the gateway" },
    anonymous: { type: "flag", meaning: "let everybody in, also on an address that others reach" },
    store: { type: "text", value: "url", meaning: "what several processes share: redis://…, sqlite:./file.db" },
    workers: { type: "number", value: "count", meaning: "so many processes at one port; needs --store" },
    options: { type: "text", value: "file", meaning: "further options: a JSON file or a module" },
    "admin-port": { type: "number", meaning: "serve /status and /metrics at this port, for this machine only" },
    user: { type: "flag", meaning: "the servers of your own files, too" },
    stdio: { type: "flag", meaning: "serve on stdin and stdout" },
    log: {
      type: "text",
      choices: ["text", "json", "off"],
      meaning: "how to say on stderr what happens; text, off with --stdio",
    },
  },
  examples: [
    { line: "plugbay gateway mcp.json", does: "all servers of a file, at http://127.0.0.1:3000/mcp" },
    { line: "plugbay gateway mcp.json --stdio", does: "the same for a host that starts programs" },
    {
      line: "plugbay gateway mcp.json --workers 4 --store redis://127.0.0.1 --log json",
      does: "for many users",
    },
  ],
  async run(context) {
    const { options, args, cwd, env } = context;
    const { runWorkers, isWorker, isTelling } = await import("../gateway/workers.ts");
    const workers = options.workers ?? 1;
    checkWorkers(workers, options);
    if (workers > 1 && !isWorker()) {
      await runWorkers(workers, context);
      return undefined;
    }
    const sources = await findGatewaySources({ files: args, withUser: options.user, cwd, env });
    const settings = await readGatewaySettings(options, cwd);
    checkStore(workers, settings);
    if (options.stdio) {
      const { runOnStdio } = await import("../gateway/run-on-stdio.ts");
      // A host that starts programs may show what they say on stderr to its user.
      await runOnStdio({ sources, settings, log: (options.log ?? "off") as LogFormat }, context);
      return undefined;
    }
    const { runGateway } = await import("../gateway/run-gateway.ts");
    const mayMove = settings.serve.port === undefined && workers === 1;
    const parts = { sources, settings, log: (options.log ?? "text") as LogFormat, mayMove };
    const running = await runGateway({ ...parts, adminPort: options["admin-port"] }, context);
    try {
      if (isTelling(env)) await announce(running, sources, context);
      await whenInterrupted(context);
    } finally {
      await running.close();
    }
    return undefined;
  },
});

function checkWorkers(
  workers: number,
  { stdio, store, options }: Pick<GatewayFlags, "store" | "options"> & { stdio: boolean },
): void {
  if (!Number.isInteger(workers) || workers < 1 || workers > 256)
    throw new UsageError(`--workers takes a number from 1 to 256, not ${workers}`);
  if (workers === 1) return;
  if (stdio) throw new UsageError("--stdio serves one client: it has no workers");
  if (store === undefined && options === undefined) throw needsStore();
}

/** Sessions, questions and tasks of clients reach any worker: all need the same store. */
function checkStore(workers: number, { isAlone }: ReadySettings): void {
  if (workers > 1 && isAlone) throw needsStore();
}

function needsStore(): UsageError {
  return new UsageError(
    "--workers needs a store that processes share",
    "add --store redis://127.0.0.1, or --store sqlite:./plugbay.db",
  );
}

function whenInterrupted({ signal }: CommandContext): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
