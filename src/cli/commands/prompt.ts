import type { GetPromptResult, Prompt } from "../../protocol/prompt.ts";
import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { oneLine } from "../terminal/printable.ts";
import { UsageError } from "../usage-error.ts";
import { findNamed } from "../values/find-named.ts";
import { formatContent } from "../values/format-content.ts";

export const command: Command = defineCommand({
  name: "prompt",
  usage: ["<target> <prompt> [key=value]", "<prompt> [key=value] -- <command>"],
  description: "Gets a prompt and shows its messages. Arguments are texts; on a terminal, missing ones are asked for.",
  target: "one",
  maxArguments: 1000,
  options: {
    save: { type: "text", value: "folder", meaning: "save images, sounds and other data into this folder" },
  },
  examples: [
    { line: "plugbay prompt shop upsell sku=A1", does: "a prompt with an argument" },
    { line: "plugbay prompt shop upsell sku=A1 --json", does: "the result as the protocol has it" },
  ],
  async run(context) {
    const [name, ...words] = context.args;
    if (name === undefined) {
      throw new UsageError("plugbay prompt needs a name", `see them with: ${await context.lineFor("prompts")}`);
    }
    const given = Object.fromEntries(words.map(readPair));
    const { client } = await context.openTarget();
    const { signal } = context;
    const prompt = findNamed(name, await client.listPrompts({ signal }), "prompt");
    const args = await withMissing(prompt, given, context);
    const result = await client.getPrompt(name, args, { signal });
    const text = context.json ? "" : await formatMessages(result, context, context.options.save);
    context.print(result, () => text);
    return undefined;
  },
});

/** `key=value` as a pair. */
export function readPair(word: string): readonly [string, string] {
  const at = word.indexOf("=");
  if (at > 0) return [word.slice(0, at), word.slice(at + 1)];
  throw new UsageError(`${JSON.stringify(word)} is no argument`, "write key=value");
}

async function withMissing(
  { name, arguments: all = [] }: Prompt,
  given: Readonly<Record<string, string>>,
  context: CommandContext,
): Promise<Readonly<Record<string, string>>> {
  const unknown = Object.keys(given).find((key) => !all.some((argument) => argument.name === key));
  if (unknown !== undefined) {
    const known = all.map((argument) => argument.name);
    throw new UsageError(`the prompt ${name} has no argument ${JSON.stringify(unknown)}`, undefined, {
      name: unknown,
      known,
    });
  }
  const missing = all.filter((argument) => argument.required === true && given[argument.name] === undefined);
  const [first] = missing;
  if (first === undefined) return given;
  if (!context.canAsk) {
    const names = missing.map((argument) => argument.name).join(", ");
    throw new UsageError(`the prompt ${name} needs ${names}`, `give it as ${first.name}=value`);
  }
  const { openQuestions } = await import("../terminal/questions.ts");
  const questions = await openQuestions(context);
  const answers: Record<string, string> = { ...given };
  for (const { name: argument, title, description } of missing) {
    const message = oneLine([title ?? argument, description].filter(Boolean).join(": "));
    answers[argument] = await questions.text({ message });
  }
  return answers;
}

async function formatMessages(
  { messages }: GetPromptResult,
  context: CommandContext,
  folder: string | undefined,
): Promise<string> {
  const parts = messages.map(async ({ role, content }) => {
    return `${context.style.bold(`${oneLine(role)}:`)} ${await formatContent([content], context, folder)}`;
  });
  return (await Promise.all(parts)).join("\n\n");
}
