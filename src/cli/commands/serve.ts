import { type Command, defineCommand } from "../command.ts";
import { readPort } from "../serving/read-port.ts";
import { serveFile } from "../serving/serve-file.ts";

export const command: Command = defineCommand({
  name: "serve",
  usage: ["<file>", "<file> --http [port]"],
  description:
    "Serves the server that a file exports: on stdio, or with --http at a URL of this machine. The file runs in a process of\n" +
    "its own. With --watch changed files are served while clients stay connected: what runs is answered by the version that\n" +
    "began it, clients hear that lists have changed, and a version that cannot be served leaves the last one in place.",
  maxArguments: 2,
  endsByInterrupt: true,
  options: {
    http: { type: "flag", meaning: "serve at a URL; port 3000, unless one follows" },
    watch: { type: "flag", short: "w", meaning: "serve changed files without a restart" },
  },
  examples: [
    { line: "plugbay serve ./server.js", does: "on stdio, for a host that starts it" },
    { line: "plugbay serve ./server.js --http 8080 --watch", does: "at a URL, while it is written" },
  ],
  async run(context) {
    const { args, options } = context;
    const port = readPort(args[1], options.http);
    await serveFile(args[0], { port, watch: options.watch }, context);
    return undefined;
  },
});
