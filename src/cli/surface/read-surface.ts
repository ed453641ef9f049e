import type { Client } from "../../client/client.ts";
import type { ServerSurface } from "../../lock/lock.ts";
import { defined } from "../../std/defined.ts";

/** All that a server shows, without where it is: two servers at different places can have the same surface. */
export async function readSurface(client: Client, name: string, signal: AbortSignal): Promise<ServerSurface> {
  const { capabilities, instructions, serverInfo } = client.server;
  const options = { signal };
  const [tools, prompts, resources, resourceTemplates] = await Promise.all([
    capabilities.tools === undefined ? [] : client.listTools(options),
    capabilities.prompts === undefined ? [] : client.listPrompts(options),
    capabilities.resources === undefined ? [] : client.listResources(options),
    capabilities.resources === undefined ? [] : client.listResourceTemplates(options),
  ]);
  return {
    name,
    revision: client.revision,
    info: serverInfo,
    ...defined({ instructions }),
    tools,
    prompts,
    resources,
    resourceTemplates,
  };
}
