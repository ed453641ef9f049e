import type { ServerCapabilities } from "../model/peer.ts";
import { tasksExtension } from "../model/task.ts";
import { defined } from "../std/defined.ts";
import type { ServerOptions } from "./options.ts";
import type { PromptBook } from "./prompts.ts";
import type { ResourceShelf } from "./resources.ts";
import type { ToolBox } from "./tools.ts";

/** What a server has to offer. */
export interface Offers {
  readonly tools: ToolBox;
  readonly prompts: PromptBook;
  readonly resources: ResourceShelf;
}

/**
 * What a server advertises.
 *
 * A group is advertised when its option is given at all, and from its first
 * member on: clients that were told of it keep asking when the last one is gone.
 */
export function capabilitiesOf(options: ServerOptions, { tools, prompts, resources }: Offers): ServerCapabilities {
  const { listChanged = false, subscribe = false, logging = false, experimental, extensions } = options;
  const changing = listChanged ? { listChanged: true } : {};
  const completes = [...prompts.values(), ...resources.templates.values()].some(
    ({ definition }) => definition.complete !== undefined,
  );
  return {
    ...((options.tools !== undefined || tools.wasUsed()) && { tools: changing }),
    ...((options.prompts !== undefined || prompts.wasUsed()) && { prompts: changing }),
    ...((options.resources !== undefined || resources.wasUsed()) && {
      resources: subscribe ? { ...changing, subscribe: true } : changing,
    }),
    ...(completes && { completions: {} }),
    ...(logging && { logging: {} }),
    ...defined({ experimental, extensions: tools.hasTasks() ? { ...extensions, [tasksExtension]: {} } : extensions }),
  };
}
