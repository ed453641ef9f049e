import type { CompletionRef } from "../../protocol/prompt.ts";
import { type Command, defineCommand } from "../command.ts";
import { oneLine } from "../terminal/printable.ts";
import { UsageError } from "../usage-error.ts";
import { readPair } from "./prompt.ts";

export const command: Command = defineCommand({
  name: "complete",
  usage: ["<target> <prompt or URI template> <argument>=<beginning> [other=value]", "… -- <command>"],
  description:
    "Asks a server which values an argument of a prompt, or a variable of a resource template, may have. What has a :// or\n" +
    "a brace is taken for a template. Values of other arguments may follow.",
  target: "one",
  maxArguments: 1000,
  options: {},
  examples: [
    { line: "plugbay complete shop upsell sku=A", does: "values of an argument of a prompt" },
    { line: "plugbay complete files 'file:///{path}' path=src/", does: "values of a variable of a template" },
  ],
  async run(context) {
    const [of, word, ...others] = context.args;
    if (of === undefined || word === undefined) {
      throw new UsageError("plugbay complete needs a prompt or a URI template, and an argument");
    }
    const [name, value] = readPair(word);
    const known = Object.fromEntries(others.map(readPair));
    const { client } = await context.openTarget();
    const ref: CompletionRef = /:\/\/|\{/.test(of)
      ? { type: "ref/resource", uri: of }
      : { type: "ref/prompt", name: of };
    const result = await client.complete(
      { ref, argument: { name, value }, ...(others.length > 0 && { context: { arguments: known } }) },
      { signal: context.signal },
    );
    const { values, total, hasMore = false } = result.completion;
    context.print(result, () => values.map((one) => oneLine(one, 1000)).join("\n"));
    if (hasMore && !context.json) context.say(`${values.length} of ${total ?? "more"} values`);
    return undefined;
  },
});
