import { type Command, defineCommand } from "../command.ts";
import { UsageError } from "../usage-error.ts";
import { keepWarm } from "../warm/keep-warm.ts";

/** The background process of `--warm`. */
export const command: Command = defineCommand({
  name: "warm-keep",
  usage: ["<id>"],
  description: "Keeps a server up between commands. plugbay starts it for --warm; nobody has to type it.",
  options: {},
  examples: [
    { line: "plugbay --warm tools shop", does: "what it is for" },
    { line: "plugbay warm status", does: "what is kept" },
  ],
  maxArguments: 1,
  endsByInterrupt: true,
  async run({ args: [id], env, signal, printEach }) {
    if (id === undefined || !/^[\da-f]{32}$/.test(id))
      throw new UsageError("plugbay warm-keep needs the id of a target");
    const onListening = (): void => printEach({ listening: true }, () => "listening");
    await keepWarm(id, { env, signal, onListening });
    return undefined;
  },
});
