import { type Command, defineCommand } from "../command.ts";
import { readPort } from "../serving/read-port.ts";
import { serveFile } from "../serving/serve-file.ts";

export const command: Command = defineCommand({
  name: "dev",
  usage: ["<file> [port]"],
  description:
    "Serves a file at a URL of this machine while it is written: plugbay serve --http --watch. There is no console yet.",
  maxArguments: 2,
  endsByInterrupt: true,
  options: {},
  examples: [
    { line: "plugbay dev ./server.js", does: "at http://127.0.0.1:3000/mcp" },
    { line: "plugbay dev ./server.js 8080", does: "at another port" },
  ],
  async run(context) {
    context.say("there is no console yet: call tools with plugbay call and the URL");
    await serveFile(context.args[0], { port: readPort(context.args[1], true), watch: true }, context);
    return undefined;
  },
});
