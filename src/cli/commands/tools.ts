import { estimateTokens } from "../../catalog/tokens.ts";
import type { Tool } from "../../protocol/tool.ts";
import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { oneLine, printable } from "../terminal/printable.ts";
import { findNamed } from "../values/find-named.ts";
import { fieldsOf, formatSignature, formatType } from "../values/signature.ts";
import { formatTable } from "../values/table.ts";

export const command: Command = defineCommand({
  name: "tools",
  usage: ["<target> [tool]", "<server>:<tool>", "[tool] -- <command>"],
  description:
    "Lists the tools of a server: name, arguments (those with ? may be left out) and what they do. With the name of a tool it\n" +
    "shows its description, every argument with its type, and the result. The JSON is that of the protocol.",
  target: "one",
  maxArguments: 1,
  options: {
    cost: { type: "flag", meaning: "show about how many tokens each takes in a prompt" },
  },
  examples: [
    { line: "plugbay tools https://example.com/mcp", does: "the tools of a server at a URL" },
    { line: "plugbay tools shop buy", does: "one tool, with its arguments" },
    { line: "plugbay tools --json -- npx -y some-server", does: "the tools of a program, for a program" },
  ],
  async run(context) {
    const { client, tool } = await context.openTarget();
    const tools = await client.listTools({ signal: context.signal });
    const wanted = context.args[0] ?? tool;
    if (wanted === undefined) {
      context.print({ tools }, () => formatTools(tools, context));
    } else {
      const one = findNamed(wanted, tools, "tool");
      context.print(one, () => formatTool(one, context));
    }
    return undefined;
  },
});

function formatTools(tools: readonly Tool[], { style, columns, options }: CommandContext): string {
  if (tools.length === 0) return "no tools";
  return formatTable(
    tools.map((tool) => {
      const about = oneLine(tool.description ?? tool.title ?? "");
      const cost = options.cost === true ? [style.dim(`${estimateTokens(tool)} tokens`)] : [];
      const named = `${style.cyan(oneLine(tool.name))}(${formatSignature(tool.inputSchema)})`;
      return [named, ...cost, style.dim(about)];
    }),
    columns,
  );
}

function formatTool(tool: Tool, { style }: CommandContext): string {
  const { name, title, description, inputSchema, outputSchema, annotations = {} } = tool;
  const fields = fieldsOf(inputSchema).map(({ name: argument, required, field }) => [
    `  ${style.cyan(oneLine(argument))}${required ? "" : "?"}`,
    formatType(field),
    style.dim(typeof field.description === "string" ? oneLine(field.description) : ""),
  ]);
  const hints = Object.entries(annotations).flatMap(([hint, value]) => (value === true ? [oneLine(hint)] : []));
  return [
    `${style.bold(oneLine(name))}${title === undefined ? "" : `: ${oneLine(title)}`}`,
    ...(description === undefined ? [] : [printable(description)]),
    ...(hints.length === 0 ? [] : [style.dim(hints.join(", "))]),
    fields.length === 0 ? "\nno arguments" : `\nArguments:\n${formatTable(fields)}`,
    ...(outputSchema === undefined ? [] : [`\nResult:\n${formatTable(outputFields(tool))}`]),
  ].join("\n");
}

function outputFields({ outputSchema = {} }: Tool): readonly (readonly string[])[] {
  return fieldsOf(outputSchema).map(({ name, required, field }) => [
    `  ${oneLine(name)}${required ? "" : "?"}`,
    formatType(field),
    typeof field.description === "string" ? oneLine(field.description) : "",
  ]);
}
