import type { ServerSlot } from "./server-slot.ts";

/** What the callers of a served host see of it, and what they call it. */
export interface HostView {
  /** Tells views apart. Empty for the host as a whole. */
  readonly name: string;
  /** Whether tools and prompts carry the names of their servers. */
  readonly isPrefixed: boolean;
  /** The only server that is in it by its definition: its names need no look at lists. */
  readonly only: string | undefined;
  /** What is told to models in place of what the servers say. */
  readonly instructions: string | undefined;
  hasServer(server: string): boolean;
  /** `localName` is what the server itself calls the tool. */
  hasTool(server: string, localName: string): boolean;
  hasPrompt(server: string, localName: string): boolean;
  /** `uri` is that of a resource, or a template. `isOfTool` where a tool of the view refers to it. */
  hasResource(uri: string, isOfTool: boolean): boolean;
  /** What a tool is called here, where that is not what its server calls it. */
  renamed(server: string, localName: string): string | undefined;
  /** The names that a server may call a tool by that is called so here. */
  originals(name: string): readonly string[];
  /** What is said of a tool here, where that is not what its server says. */
  described(server: string, localName: string): string | undefined;
}

/** All that a host has, by names that no server can take from another one. */
export const wholeHost: HostView = {
  name: "",
  isPrefixed: true,
  only: undefined,
  instructions: undefined,
  hasServer: () => true,
  hasTool: () => true,
  hasPrompt: () => true,
  hasResource: () => true,
  renamed: () => undefined,
  originals: () => [],
  described: () => undefined,
};

/** The servers of a host, or some of them. They may change at any time. */
export interface ServerSlots {
  get(name: string): ServerSlot | undefined;
  has(name: string): boolean;
  keys(): Iterable<string>;
  values(): Iterable<ServerSlot>;
}

/** The servers that are in a view. */
export function slotsIn(slots: ServerSlots, { hasServer }: Pick<HostView, "hasServer">): ServerSlots {
  return {
    get: (name) => (hasServer(name) ? slots.get(name) : undefined),
    has: (name) => hasServer(name) && slots.has(name),
    keys: () => [...slots.keys()].filter(hasServer),
    values: () => [...slots.values()].filter(({ name }) => hasServer(name)),
  };
}
