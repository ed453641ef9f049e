import type { ClientConnection } from "../connect/create-connect.ts";
import { McpError, toFailure } from "../protocol/errors.ts";
import type { CallOf } from "../protocol/service.ts";
import type { Clock } from "../std/clock.ts";
import { orAborted } from "../std/lazy-abort.ts";
import type { Access } from "./access.ts";
import {
  type HostPrompt,
  type HostResource,
  type HostResourceTemplate,
  type HostTool,
  type Listing,
  type MissingServer,
  type ToolListing,
  toListing,
  toToolListing,
  type WithheldTool,
} from "./host-tool.ts";
import type { ServerSlots } from "./host-view.ts";
import type { LockGate } from "./lock-check.ts";
import type { OwnConnections } from "./own-connections.ts";
import { unavailable } from "./server-connection.ts";
import type { ListCache, ListKind, ServerSlot } from "./server-slot.ts";
import { missing } from "./status.ts";

export interface HostListOptions {
  readonly signal?: AbortSignal | undefined;
  /** True asks every server, whatever is at hand. */
  readonly fresh?: boolean | undefined;
  /** Only of this server. */
  readonly server?: string | undefined;
}

/** Of lists that are made for a client of the host. */
export interface CallerListOptions extends HostListOptions {
  /** Whose list it is, where that may make a difference. */
  readonly caller?: CallOf | undefined;
}

/** What a server tells models about its use. */
export interface HostInstructions {
  readonly server: string;
  readonly text: string;
}

/** Lists over all servers. A server that fails is missing from them, and said to be. */
export interface Listings {
  /** Says besides which tools are there but cannot be called. */
  listTools(options?: HostListOptions): Promise<ToolListing>;
  listResources(options?: HostListOptions): Promise<Listing<HostResource>>;
  listResourceTemplates(options?: HostListOptions): Promise<Listing<HostResourceTemplate>>;
  listPrompts(options?: HostListOptions): Promise<Listing<HostPrompt>>;
  listInstructions(options?: HostListOptions): Promise<Listing<HostInstructions>>;
}

/** The same, as one client of the host sees them. */
export interface CallerListings extends Listings {
  listTools(options?: CallerListOptions): Promise<ToolListing>;
  listResources(options?: CallerListOptions): Promise<Listing<HostResource>>;
  listResourceTemplates(options?: CallerListOptions): Promise<Listing<HostResourceTemplate>>;
  listPrompts(options?: CallerListOptions): Promise<Listing<HostPrompt>>;
}

interface ListingsOptions {
  readonly slots: ServerSlots;
  readonly access: Access;
  readonly gate: LockGate;
  /** The tools of a server that is not connected yet, from what was kept of it. */
  kept(slot: ServerSlot): readonly HostTool[] | undefined;
  /** Hears of tools that are there but not allowed. */
  onDenied?(tool: HostTool, by: string): void;
  readonly wait: ListWait;
  readonly own: OwnConnections | undefined;
  /** Whether lists for clients have what a server that is away listed last. It is missing from them all the same. */
  readonly listsAbsent: boolean;
}

/** What a list has of one server. */
interface ListPart<T> {
  /** Rejects when the server is away. */
  fetch(slot: ServerSlot): Promise<readonly T[]>;
  /** What the server listed last. */
  lastOf(slot: ServerSlot): readonly T[];
  /** Those of its entries that may be listed. */
  allowed(slot: ServerSlot, items: readonly T[]): readonly T[] | Promise<readonly T[]>;
}

export function createListings(options: ListingsOptions): CallerListings {
  const { slots, gate, kept, wait } = options;

  const gather = createGather(options);
  const allowed = createFilter(options);

  const from =
    <T>(cacheOf: (slot: ServerSlot) => ListCache<ListKind, T>, { signal, fresh }: HostListOptions) =>
    async (slot: ServerSlot): Promise<readonly T[]> => {
      const line = await reach(slot, signal);
      const cache = cacheOf(slot);
      const items = cache.get(line, { signal, fresh });
      return wait(items, { server: slot.name, since: cache.askedAt, what: `listing its ${cache.kind}` });
    };

  /** The connection for a list. Who lists does not wait for what is broken. */
  const reach = ({ name, member }: ServerSlot, signal: AbortSignal | undefined): Promise<ClientConnection> => {
    const { line, state } = member;
    if (line !== undefined) return Promise.resolve(line);
    if (state.kind === "needs-auth" || (state.kind === "down" && !state.isLooping))
      return Promise.reject(unavailable(name, state.reason));
    // Whoever waits for a connection keeps the process alive: a list that has given up must not wait any more.
    const over = new AbortController();
    const opened = orAborted(member.open(over.signal), signal, cancelled);
    const since = member.state.kind === "connecting" ? member.state.since : undefined;
    return wait(opened, { server: name, since, what: "connecting" }).finally(() => over.abort());
  };

  /** A list of which the lock says what may be in it. */
  const approvedOf = <T extends HostResource | HostResourceTemplate | HostPrompt>(
    kind: "resources" | "resourceTemplates" | "prompts",
    cacheOf: (slot: ServerSlot) => ListCache<ListKind, T>,
    options: HostListOptions,
  ): ListPart<T> => ({
    fetch: from(cacheOf, options),
    lastOf: (slot) => cacheOf(slot).last,
    allowed: ({ name }, items) => gate.approved(name, kind, items),
  });

  return {
    async listTools(options = {}) {
      const list = from<HostTool>(({ tools }) => tools, options);
      const withheld = new Map<string, WithheldTool[]>([...slots.keys()].map((name) => [name, []]));
      const part: ListPart<HostTool> = {
        async fetch(slot) {
          const { kind } = slot.member.state;
          const isComing = (kind === "idle" || kind === "connecting") && options.fresh !== true;
          return (isComing ? kept(slot) : undefined) ?? list(slot);
        },
        lastOf: ({ tools }) => tools.last,
        allowed: (slot, tools) => allowed(slot, tools, withheld.get(slot.name) ?? []),
      };
      const listing = await gather(part, options);
      return toToolListing(listing, [...withheld.values()].flat());
    },
    listResources(options = {}) {
      return gather(
        approvedOf<HostResource>("resources", ({ resources }) => resources, options),
        options,
      );
    },
    listResourceTemplates(options = {}) {
      const cacheOf = ({ resourceTemplates }: ServerSlot) => resourceTemplates;
      return gather(approvedOf<HostResourceTemplate>("resourceTemplates", cacheOf, options), options);
    },
    listPrompts(options = {}) {
      return gather(
        approvedOf<HostPrompt>("prompts", ({ prompts }) => prompts, options),
        options,
      );
    },
    listInstructions(options = {}) {
      const part: ListPart<HostInstructions> = {
        async fetch(slot) {
          const { client } = await reach(slot, options.signal);
          const text = gate.instructions(slot.name, client.server.instructions);
          return text === undefined ? [] : [{ server: slot.name, text }];
        },
        lastOf: () => [],
        allowed: (_, texts) => texts,
      };
      return gather(part, options);
    },
  };
}

function cancelled(cause: unknown): McpError {
  return new McpError("cancelled", "listing was cancelled", { cause });
}

interface Gathered<T> {
  readonly items: readonly T[];
  readonly lacks: readonly MissingServer[];
}

/** Joins what a list has of each server. */
function createGather({ slots, own, listsAbsent }: ListingsOptions) {
  /** What a list has of a server, or had when the server was there. Nothing where it is not known whose list it would be. */
  const partOf = async <T>(shared: ServerSlot, part: ListPart<T>, caller: CallOf | undefined): Promise<Gathered<T>> => {
    let slot: ServerSlot | undefined;
    try {
      slot = own === undefined || caller === undefined ? shared : await own.listsOf(shared, caller);
      return { items: await part.allowed(slot, await part.fetch(slot)), lacks: [] };
    } catch (error) {
      const failure = error instanceof McpError ? error : new McpError("internal", String(error), { cause: error });
      const last = listsAbsent && caller !== undefined && slot !== undefined ? part.lastOf(slot) : [];
      const items = slot === undefined ? [] : await part.allowed(slot, last);
      return { items, lacks: [missing(shared.name, toFailure(failure))] };
    }
  };

  return async <T>(part: ListPart<T>, { server, signal, caller }: CallerListOptions): Promise<Listing<T>> => {
    const asked = [...slots.values()].filter(({ name }) => server === undefined || name === server);
    const parts = await Promise.all(asked.map((slot) => partOf(slot, part, caller)));
    if (signal?.aborted === true) throw cancelled(signal.reason);
    return toListing(
      parts.flatMap(({ items }) => items),
      parts.flatMap(({ lacks }) => lacks),
    );
  };
}

/** Leaves out the tools that nobody may call, and notes them. */
function createFilter({ access, onDenied }: ListingsOptions) {
  return async (
    slot: ServerSlot,
    tools: readonly HostTool[],
    withheld: WithheldTool[],
  ): Promise<readonly HostTool[]> => {
    if (access.isOpen && slot.spec.tools === undefined) return tools;
    const decisions = await Promise.all(tools.map((tool) => access.judge(tool, slot.spec)));
    return tools.filter((tool, index) => {
      const decision = decisions[index];
      if (decision?.action !== "deny") return true;
      withheld.push({ server: tool.server, name: tool.name, by: decision.source, reason: decision.by });
      onDenied?.(tool, decision.by);
      return false;
    });
  };
}

/**
 * Waits for a server's part of a list, but only while the server is not slow: while less than the limit has passed since
 * it was asked. Who was slow before is not waited for again. Rejects with `timeout`; the work goes on.
 */
type ListWait = <T>(work: Promise<T>, owed: Owed) => Promise<T>;

/** What a server owes. */
interface Owed {
  readonly server: string;
  /** Since when; undefined when it is there already. */
  readonly since: number | undefined;
  /** For people: `listing its tools`, `connecting`. */
  readonly what: string;
}

/** 0 waits for as long as the work takes. */
export function createListWait(clock: Clock, timeoutMs: number): ListWait {
  return async (work, { server, since, what }) => {
    if (since === undefined || timeoutMs === 0 || timeoutMs === Number.POSITIVE_INFINITY) return work;
    let stop = (): void => {};
    const late = new Promise<never>((_, reject) => {
      stop = clock.after(Math.max(0, since + timeoutMs - clock.now()), () => reject(tooLate()));
    });
    const tooLate = (): McpError => {
      const message = `server ${server} did not answer within ${timeoutMs} ms (${what}): lists leave it out until it does. To wait longer, await host.settled() first or raise listTimeoutMs`;
      return new McpError("timeout", message, { data: { listTimeoutMs: timeoutMs } });
    };
    try {
      return await Promise.race([work, late]);
    } finally {
      stop();
    }
  };
}
