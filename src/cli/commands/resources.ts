import type { Resource, ResourceTemplate } from "../../protocol/content.ts";
import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { oneLine } from "../terminal/printable.ts";
import { formatTable } from "../values/table.ts";

export const command: Command = defineCommand({
  name: "resources",
  usage: ["<target>", "-- <command>"],
  description:
    "Lists the resources of a server, and its templates: URIs with variables in braces. plugbay read fetches one.",
  target: "one",
  options: {},
  examples: [
    { line: "plugbay resources https://example.com/mcp", does: "the resources of a server at a URL" },
    { line: "plugbay resources docs --json", does: "the same as JSON" },
  ],
  async run(context) {
    const { client } = await context.openTarget();
    const { signal } = context;
    const [resources, resourceTemplates] = await Promise.all([
      client.listResources({ signal }),
      client.listResourceTemplates({ signal }),
    ]);
    context.print({ resources, resourceTemplates }, () => formatResources(resources, resourceTemplates, context));
    return undefined;
  },
});

function formatResources(
  resources: readonly Resource[],
  templates: readonly ResourceTemplate[],
  { style, columns }: CommandContext,
): string {
  if (resources.length + templates.length === 0) return "no resources";
  const row = (uri: string, { title, name, mimeType = "", description }: Resource | ResourceTemplate) => [
    style.cyan(oneLine(uri, 500)),
    oneLine(title ?? name),
    style.dim(oneLine(mimeType)),
    style.dim(oneLine(description ?? "")),
  ];
  const rows = [
    ...resources.map((resource) => row(resource.uri, resource)),
    ...templates.map((template) => row(template.uriTemplate, template)),
  ];
  return formatTable(rows, columns);
}
