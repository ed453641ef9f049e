import { type CatalogTool, fullNameOf } from "./catalog-tool.ts";
import { tokensWithServer } from "./meter.ts";
import { oneLine } from "./one-line.ts";

/** Tools as a model reads them. */
export interface ShownTools {
  /** A tool a line: its definition as JSON, or its name and the first words of what it says. */
  readonly text: string;
  /** The tools whose definition is there as a whole. */
  readonly whole: readonly CatalogTool[];
  /** How many are there by name only, or not at all. */
  readonly shortened: number;
}

/** So many tools are named in one answer when there is no room for their definitions. */
const MAX_NAMES = 200;

/**
 * Shows the definitions of tools while they fit in `maxTokens`, but always the
 * first one; of the others the names. The same tools give the same text.
 */
export function showTools(tools: readonly CatalogTool[], maxTokens: number): ShownTools {
  const whole: CatalogTool[] = [];
  let tokens = 0;
  for (const tool of tools) {
    tokens += tokensWithServer(tool);
    if (whole.length > 0 && tokens > maxTokens) break;
    whole.push(tool);
  }
  const rest = tools.slice(whole.length);
  const named = rest.slice(0, MAX_NAMES);
  const lines = [...whole.map(definitionOf), ...named.map(briefly)];
  if (rest.length > named.length) lines.push(`and ${rest.length - named.length} more`);
  return { text: lines.join("\n"), whole, shortened: rest.length };
}

function definitionOf(item: CatalogTool): string {
  const { description, inputSchema } = item.tool;
  return JSON.stringify({ name: fullNameOf(item), description, inputSchema });
}

function briefly(item: CatalogTool): string {
  const { title, description = title ?? "" } = item.tool;
  const about = oneLine(description);
  return about === "" ? fullNameOf(item) : `${fullNameOf(item)}: ${about}`;
}
