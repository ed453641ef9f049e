import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { readSkill, readSkills } from "../skills/read-skills.ts";
import type { Skill } from "../skills/skill.ts";
import { oneLine, printable } from "../terminal/printable.ts";
import { formatTable } from "../values/table.ts";

export const command: Command = defineCommand({
  name: "skills",
  usage: ["<target> [uri]", "[uri] -- <command>"],
  description:
    "Lists the skills of a server that has the extension io.modelcontextprotocol/skills: name, URI, size and description. With\n" +
    "the URI of a SKILL.md it shows what its author says of the skill, and its files with their digests; a server may have\n" +
    "skills that it does not list. plugbay read fetches a file. The JSON is that of the protocol.",
  target: "one",
  maxArguments: 1,
  options: {},
  examples: [
    { line: "plugbay skills https://example.com/mcp", does: "the skills of a server at a URL" },
    { line: "plugbay skills shop skill://refunds/SKILL.md", does: "one skill, with its files" },
    { line: "plugbay skills --json -- node server.js", does: "the skills of a program, as JSON" },
  ],
  async run(context) {
    const { client } = await context.openTarget();
    const { signal, say } = context;
    const [uri] = context.args;
    if (uri === undefined) {
      const onProblem = (message: string): void => say(`warning: ${printable(message)}`);
      const skills = await readSkills(client, { signal, onProblem });
      context.print({ skills }, () => formatSkills(skills, context));
    } else {
      const skill = await readSkill(client, uri, signal);
      context.print(skill, () => formatSkill(skill, context));
    }
    return undefined;
  },
});

function formatSkills(skills: readonly Skill[], { style, columns }: CommandContext): string {
  if (skills.length === 0) return "no skills are listed";
  const rows = skills.map((skill) => [
    style.cyan(oneLine(skill.frontmatter.name)),
    oneLine(skill.uri, 500),
    sizeOf(skill),
    style.dim(oneLine(skill.frontmatter.description)),
  ]);
  return formatTable(rows, columns);
}

function sizeOf({ resources }: Skill): string {
  if (resources === "dynamic") return "dynamic";
  const bytes = resources.reduce((sum, { size }) => sum + size, 0);
  return `${resources.length} ${resources.length === 1 ? "file" : "files"}, ${bytes} bytes`;
}

function formatSkill({ uri, frontmatter, resources }: Skill, { style }: CommandContext): string {
  const { name, description, ...others } = frontmatter;
  const said = Object.entries(others).map(([key, value]) => [
    `  ${style.cyan(oneLine(key))}`,
    oneLine(typeof value === "string" ? value : JSON.stringify(value), 500),
  ]);
  const files = resources === "dynamic" ? [] : resources;
  const rows = files.map((file) => [`  ${oneLine(file.uri, 500)}`, String(file.size), style.dim(oneLine(file.digest))]);
  return [
    `${style.bold(oneLine(name))}  ${oneLine(uri, 500)}`,
    printable(description),
    ...(said.length === 0 ? [] : [`\nFrontmatter:\n${formatTable(said)}`]),
    resources === "dynamic"
      ? "\nIts files are made when they are read: they have no digests."
      : `\nFiles, with bytes and digest:\n${formatTable(rows)}`,
  ].join("\n");
}
