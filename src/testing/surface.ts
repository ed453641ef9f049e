import { stringify } from "yaml";
import type { Client } from "../client/client.ts";
import type { Resource, ResourceTemplate } from "../protocol/content.ts";
import type { ServerCapabilities } from "../protocol/peer.ts";
import type { Prompt } from "../protocol/prompt.ts";
import type { Tool } from "../protocol/tool.ts";

/** All that a server shows to a client, by name: what its users, and the models they use, depend on. */
export interface Surface {
  readonly name: string;
  readonly instructions?: string;
  readonly capabilities: ServerCapabilities;
  readonly tools: Readonly<Record<string, Omit<Tool, "name">>>;
  readonly prompts: Readonly<Record<string, Omit<Prompt, "name">>>;
  /** By URI. */
  readonly resources: Readonly<Record<string, Omit<Resource, "uri">>>;
  /** By template. */
  readonly resourceTemplates: Readonly<Record<string, Omit<ResourceTemplate, "uriTemplate">>>;
}

/** A client of any server, whatever the types of its tools. */
type SurfaceSource = Pick<Client, "server" | "listTools" | "listPrompts" | "listResources" | "listResourceTemplates">;

/** Reads everything that a server shows to this client. The version is left out: every release has another. */
export async function readSurface(client: SurfaceSource): Promise<Surface> {
  const { capabilities, instructions, serverInfo } = client.server;
  const { tools, prompts, resources } = capabilities;
  const [allTools, allPrompts, allResources, templates] = await Promise.all([
    tools === undefined ? [] : client.listTools(),
    prompts === undefined ? [] : client.listPrompts(),
    resources === undefined ? [] : client.listResources(),
    resources === undefined ? [] : client.listResourceTemplates(),
  ]);
  return {
    name: serverInfo.name,
    ...(instructions !== undefined && { instructions }),
    capabilities,
    tools: Object.fromEntries(allTools.map(({ name, ...tool }) => [name, tool])),
    prompts: Object.fromEntries(allPrompts.map(({ name, ...prompt }) => [name, prompt])),
    resources: Object.fromEntries(allResources.map(({ uri, ...resource }) => [uri, resource])),
    resourceTemplates: Object.fromEntries(templates.map(({ uriTemplate, ...template }) => [uriTemplate, template])),
  };
}

/**
 * A surface as text, for a snapshot or a file: one member a line, sorted, so
 * that what has changed shows as the lines that differ.
 *
 * @example
 * expect(formatSurface(await readSurface(client))).toMatchSnapshot();
 */
export function formatSurface(surface: Surface): string {
  return stringify(surface, { sortMapEntries: true, lineWidth: 0, aliasDuplicateObjects: false });
}
