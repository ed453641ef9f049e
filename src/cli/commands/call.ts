import type { Client } from "../../client/client.ts";
import type { JsonObject } from "../../json/json.ts";
import type { CallToolResult, Tool } from "../../protocol/tool.ts";
import { type Command, type CommandContext, defineCommand, type ExitCode, type OptionOf } from "../command.ts";
import { targetOptions } from "../target/target-options.ts";
import { startProgress } from "../terminal/progress-bar.ts";
import { UsageError } from "../usage-error.ts";
import { findNamed } from "../values/find-named.ts";
import { formatContent } from "../values/format-content.ts";
import { formatValue } from "../values/format-value.ts";
import {
  givenOptions,
  missingArguments,
  optionsOf,
  readToolArguments,
  unknownArguments,
} from "../values/tool-arguments.ts";

type Own = Readonly<Record<"args" | "save", OptionOf<"text">>> & { readonly task: OptionOf<"flag"> };

const own: Own = {
  args: { type: "text", value: "file", meaning: "read arguments as a JSON object from a file, or - for stdin" },
  save: { type: "text", value: "folder", meaning: "save images, sounds and other data into this folder" },
  task: { type: "flag", meaning: "start a task, and do not wait: plugbay tasks shows it" },
};

export const command: Command = defineCommand({
  name: "call",
  usage: [
    "<target> <tool> [key=value] [key:=json] [--key value]",
    "<server>:<tool> [key=value] …",
    "<tool> [key=value] … -- <command>",
  ],
  description:
    "Calls a tool and shows its result. The exit code is 1 when the tool reports an error (isError).\n" +
    "\n" +
    "Arguments: key=value is read by the schema of the tool (numbers, true and false; a key that is given again adds to a\n" +
    "list), key:=json is taken as JSON, and so is a whole object '{\"key\": 1}'. Options that follow the name of the tool\n" +
    "are arguments too: --key value. On a terminal, what is needed and was not given is asked for, and so is what the\n" +
    "server asks; without a terminal nothing is answered. Ctrl-C cancels the call.",
  target: "one",
  maxArguments: 1000,
  takesMoreOptions: true,
  options: own,
  examples: [
    { line: "plugbay call https://example.com/mcp search query='red shoes' limit=5", does: "arguments as words" },
    { line: "plugbay call shop:buy --sku A1 --quantity 2", does: "arguments as options" },
    { line: "plugbay call shop buy sku=A1 tags:='[\"new\"]' --json", does: "JSON in, JSON out" },
    { line: 'echo \'{"a": 1, "b": 2}\' | plugbay call calc add --args -', does: "arguments from another program" },
    { line: "plugbay call add a=1 b=2 -- node server.js", does: "a tool of a program" },
  ],
  async run(context) {
    const { client, tool: named } = await context.openTarget();
    // Names of arguments are not known yet, so values of options are among the words.
    const name = named ?? context.args[0];
    if (name === undefined) throw await missingTool(context);
    const { signal } = context;
    const tool = findNamed(name, await client.listTools({ signal }), "tool");
    const args = await argumentsOf(tool, context, named === undefined);
    if (context.options.task) return startTask(client, { name, args }, context);
    const progress = startProgress(name, context.live, context.style);
    try {
      const result = await client.callTool(name, args, {
        signal,
        ...(progress.onProgress && { onProgress: progress.onProgress }),
      });
      progress.end();
      return await showResult(result, context);
    } finally {
      progress.end();
    }
  },
});

async function startTask(
  client: Client,
  { name, args }: { readonly name: string; readonly args: JsonObject },
  context: CommandContext<typeof own>,
): Promise<ExitCode | undefined> {
  const handle = await client.tasks.start(name, args, { signal: context.signal });
  if (handle.id === undefined) return showResult(await handle.result(), context);
  const { id } = handle;
  context.print(handle.task, () => id);
  if (!context.json) context.say(`see it with: ${await context.lineFor("tasks", id, "--wait")}`);
  return undefined;
}

async function missingTool({ lineFor }: CommandContext): Promise<UsageError> {
  return new UsageError("plugbay call needs the name of a tool", `see them with: ${await lineFor("tools")}`);
}

/** The arguments of a call, with what is missing asked for. */
async function argumentsOf(
  { name, inputSchema }: Tool,
  context: CommandContext<typeof own>,
  namesTool: boolean,
): Promise<JsonObject> {
  const parsed = context.parseWith(optionsOf(inputSchema));
  const words = parsed.args.slice(namesTool ? 1 : 0);
  const options = givenOptions(inputSchema, parsed, { ...own, ...targetOptions });
  const given = await readToolArguments({ words, options, file: context.options.args }, inputSchema, context);
  for (const unknown of unknownArguments(inputSchema, given)) {
    context.say(`note: ${name} names no argument ${JSON.stringify(unknown)}; it is sent as it is`);
  }
  const missing = missingArguments(inputSchema, given);
  if (missing.length === 0) return given;
  if (context.canAsk) return { ...(await askFor(inputSchema, given, context)), ...given };
  const hint = `give it as ${missing[0]}=value; see: ${await context.lineFor("tools", ...(namesTool ? [name] : []))}`;
  throw new UsageError(`${name} needs ${missing.join(", ")}`, hint);
}

async function askFor(schema: JsonObject, given: JsonObject, context: CommandContext): Promise<JsonObject> {
  const [{ openQuestions }, { askForm }] = await Promise.all([
    import("../terminal/questions.ts"),
    import("../terminal/ask-form.ts"),
  ]);
  return askForm(schema, await openQuestions(context), new Set(Object.keys(given)));
}

/** Shows a result. Structured content stands for the text that repeats it. */
async function showResult(result: CallToolResult, context: CommandContext<typeof own>): Promise<ExitCode> {
  const { content, structuredContent, isError = false } = result;
  const isRepeated = (text: string): boolean =>
    text === JSON.stringify(structuredContent) || isSameJson(text, structuredContent);
  const rest =
    structuredContent === undefined
      ? content
      : content.filter((block) => !(block.type === "text" && isRepeated(block.text)));
  const parts = context.json
    ? []
    : [
        await formatContent(rest, context, context.options.save),
        ...(structuredContent === undefined ? [] : [formatValue(structuredContent, context.columns)]),
      ];
  const text = parts.filter((part) => part !== "").join("\n");
  if (isError && !context.json) context.say(context.style.red("the tool reports an error:"));
  context.print(result, () => text);
  return isError ? 1 : 0;
}

function isSameJson(text: string, value: unknown): boolean {
  if (!/^[[{"\d-]|^(?:true|false|null)$/.test(text.trim())) return false;
  try {
    return JSON.stringify(JSON.parse(text)) === JSON.stringify(value);
  } catch {
    return false;
  }
}
