import type { ResourceContents } from "../../protocol/content.ts";
import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { UsageError } from "../usage-error.ts";
import { formatContents } from "../values/format-content.ts";

export const command: Command = defineCommand({
  name: "read",
  usage: ["<target> <uri>", "<uri> -- <command>"],
  description:
    "Reads a resource. Text is written as it is; data goes to stdout where that is a file or a pipe, and is shown or saved\n" +
    "on a terminal.",
  target: "one",
  maxArguments: 1,
  options: {
    save: { type: "text", value: "folder", meaning: "save images, sounds and other data into this folder" },
  },
  examples: [
    { line: "plugbay read docs docs://intro", does: "a resource of a configured server" },
    { line: "plugbay read shop img://logo > logo.png", does: "data into a file" },
    { line: "plugbay read docs://intro --json -- node server.js", does: "the result as the protocol has it" },
  ],
  async run(context) {
    const { args, options, signal, lineFor } = context;
    const [uri] = args;
    if (uri === undefined) {
      throw new UsageError("plugbay read needs a URI", `see them with: ${await lineFor("resources")}`);
    }
    const { client } = await context.openTarget();
    const result = await client.readResource(uri, { signal });
    if (isRaw(result.contents, context)) return writeRaw(result.contents, context);
    const text = context.json ? "" : await formatContents(result.contents, context, options.save);
    context.print(result, () => text);
    return undefined;
  },
});

/** One piece of data for a file or a pipe. */
function isRaw(contents: readonly ResourceContents[], { json, columns, options }: CommandContext): boolean {
  const [only, ...others] = contents;
  const isData = only !== undefined && others.length === 0 && "blob" in only;
  return isData && !json && columns === undefined && options.save === undefined;
}

async function writeRaw(contents: readonly ResourceContents[], { stdout }: CommandContext): Promise<undefined> {
  for (const one of contents) {
    const bytes = "blob" in one ? Buffer.from(one.blob, "base64") : Buffer.from(one.text);
    await new Promise<void>((resolve) => stdout.write(bytes, () => resolve()));
  }
}
