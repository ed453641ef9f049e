import type { Content, ResourceContents } from "../../protocol/content.ts";
import type { CommandContext } from "../command.ts";
import { oneLine, printable } from "../terminal/printable.ts";
import { imageSequence } from "../terminal/show-image.ts";
import { createFileSaver, type FileSaver } from "./save-file.ts";

/** Blocks of content as text. Data is shown where the terminal can, or saved; without a terminal it is saved only where a folder was named. */
export async function formatContent(
  blocks: readonly Content[],
  context: CommandContext,
  folder: string | undefined,
): Promise<string> {
  const saver = createFileSaver(folder, context);
  const saves = folder !== undefined || context.columns !== undefined;
  const parts: string[] = [];
  for (const block of blocks) parts.push(await formatBlock(block, { context, saver, saves }));
  return parts.join("\n");
}

/** What a resource holds, as text. */
export async function formatContents(
  contents: readonly ResourceContents[],
  context: CommandContext,
  folder: string | undefined,
): Promise<string> {
  return formatContent(
    contents.map((resource) => ({ type: "resource", resource })),
    context,
    folder,
  );
}

interface Showing {
  readonly context: CommandContext;
  readonly saver: FileSaver;
  readonly saves: boolean;
}

async function formatBlock(block: Content, showing: Showing): Promise<string> {
  switch (block.type) {
    case "text":
      return shownText(block.text, showing.context);
    case "image":
    case "audio":
      return formatData(block.data, block.mimeType, showing);
    case "resource":
      return "text" in block.resource
        ? shownText(block.resource.text, showing.context)
        : formatData(block.resource.blob, block.resource.mimeType ?? "application/octet-stream", showing);
    case "resource_link": {
      const { uri, title, name, description } = block;
      const about = description === undefined ? "" : `: ${oneLine(description)}`;
      return `${oneLine(title ?? name)} <${oneLine(uri, 2000)}>${about}`;
    }
    default:
      // Newer servers may send kinds that this client does not know.
      return oneLine(JSON.stringify(block), 2000);
  }
}

/** A terminal would obey what is in a text; a file or a pipe gets it as it is. */
export function shownText(text: string, { columns }: Pick<CommandContext, "columns">): string {
  return columns === undefined ? text : printable(text);
}

async function formatData(data: string, mimeType: string, { context, saver, saves }: Showing): Promise<string> {
  const what = `${oneLine(mimeType)}, ${Math.floor((data.length * 3) / 4)} bytes`;
  const image =
    context.columns !== undefined && /^image\//.test(mimeType) ? imageSequence(data, mimeType, context.env) : undefined;
  if (image !== undefined) return image;
  if (!saves) return `[${what}; --save <folder> keeps it, --json shows it]`;
  return `[${what}: ${await saver.save(data, mimeType)}]`;
}
