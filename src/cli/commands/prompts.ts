import { type Command, defineCommand } from "../command.ts";
import { oneLine } from "../terminal/printable.ts";
import { formatTable } from "../values/table.ts";

export const command: Command = defineCommand({
  name: "prompts",
  usage: ["<target>", "-- <command>"],
  description:
    "Lists the prompts of a server with their arguments; those with ? may be left out. plugbay prompt gets one.",
  target: "one",
  options: {},
  examples: [
    { line: "plugbay prompts shop", does: "the prompts of a configured server" },
    { line: "plugbay prompts --json -- node server.js", does: "those of a program, as JSON" },
  ],
  async run(context) {
    const { client } = await context.openTarget();
    const prompts = await client.listPrompts({ signal: context.signal });
    const { style, columns } = context;
    context.print({ prompts }, () => {
      if (prompts.length === 0) return "no prompts";
      return formatTable(
        prompts.map(({ name, title, description, arguments: args = [] }) => [
          `${style.cyan(oneLine(name))}(${args.map((one) => `${oneLine(one.name)}${one.required ? "" : "?"}`).join(", ")})`,
          style.dim(oneLine(description ?? title ?? "")),
        ]),
        columns,
      );
    });
    return undefined;
  },
});
