import type { Line } from "../connect/create-connect.ts";
import { McpError, toFailure } from "../model/errors.ts";
import type { Access } from "./access.ts";
import {
  type HostPrompt,
  type HostResource,
  type HostResourceTemplate,
  type HostTool,
  type Listing,
  type Missing,
  toListing,
} from "./host-tool.ts";
import { unavailable } from "./member.ts";
import type { Seat } from "./seat.ts";
import type { Shelf } from "./shelf.ts";
import { missing } from "./status.ts";

export interface ListOptions {
  readonly signal?: AbortSignal | undefined;
  /** True asks every server, whatever is at hand. */
  readonly fresh?: boolean | undefined;
  /** Only of this server. */
  readonly server?: string | undefined;
}

/** What a server tells models about its use. */
export interface HostInstructions {
  readonly server: string;
  readonly text: string;
}

/** Lists over all servers. A server that fails is missing from them, and said to be. */
export interface Listings {
  tools(options?: ListOptions): Promise<Listing<HostTool>>;
  resources(options?: ListOptions): Promise<Listing<HostResource>>;
  resourceTemplates(options?: ListOptions): Promise<Listing<HostResourceTemplate>>;
  prompts(options?: ListOptions): Promise<Listing<HostPrompt>>;
  instructions(options?: ListOptions): Promise<Listing<HostInstructions>>;
}

export interface ListingsOptions {
  readonly seats: ReadonlyMap<string, Seat>;
  readonly access: Access;
  /** The tools of a server that is not connected yet, from what was kept of it. */
  kept(seat: Seat): readonly HostTool[] | undefined;
  /** Hears of tools that are there but not allowed. */
  onDenied?(tool: HostTool, by: string): void;
}

export function createListings({ seats, access, kept, onDenied }: ListingsOptions): Listings {
  const gather = async <T>(
    part: (seat: Seat) => Promise<readonly T[]>,
    { server, signal }: ListOptions,
  ): Promise<Listing<T>> => {
    const asked = [...seats.values()].filter(({ name }) => server === undefined || name === server);
    const parts = await Promise.all(asked.map((seat) => orMissing(seat, part)));
    if (signal?.aborted === true) throw new McpError("cancelled", "listing was cancelled", { cause: signal.reason });
    return toListing(
      parts.flatMap(({ items }) => items),
      parts.flatMap(({ lacks }) => lacks),
    );
  };

  const from =
    <T>(shelf: (seat: Seat) => Pick<Shelf<never, T>, "get">, { signal, fresh }: ListOptions) =>
    async (seat: Seat): Promise<readonly T[]> => {
      const line = await reach(seat, signal);
      return shelf(seat).get(line, { signal, fresh });
    };

  const allowed = async (seat: Seat, tools: readonly HostTool[]): Promise<readonly HostTool[]> => {
    if (access.isOpen && seat.spec.tools === undefined) return tools;
    const decisions = await Promise.all(tools.map((tool) => access.judge(tool, seat.spec)));
    return tools.filter((tool, index) => {
      const decision = decisions[index];
      if (decision?.action !== "deny") return true;
      onDenied?.(tool, decision.by);
      return false;
    });
  };

  return {
    tools(options = {}) {
      const list = from<HostTool>(({ tools }) => tools, options);
      return gather(async (seat) => {
        const { kind } = seat.member.state;
        const isComing = (kind === "idle" || kind === "connecting") && options.fresh !== true;
        return allowed(seat, (isComing ? kept(seat) : undefined) ?? (await list(seat)));
      }, options);
    },
    resources: (options = {}) =>
      gather(
        from(({ resources }) => resources, options),
        options,
      ),
    resourceTemplates: (options = {}) =>
      gather(
        from(({ resourceTemplates }) => resourceTemplates, options),
        options,
      ),
    prompts: (options = {}) =>
      gather(
        from(({ prompts }) => prompts, options),
        options,
      ),
    instructions: (options = {}) =>
      gather(async (seat) => {
        const { client } = await reach(seat, options.signal);
        const text = client.server.instructions;
        return text === undefined ? [] : [{ server: seat.name, text }];
      }, options),
  };
}

/** The connection for a list. Who lists does not wait for what is broken. */
function reach({ name, member }: Seat, signal: AbortSignal | undefined): Promise<Line> {
  const { state } = member;
  if (state.kind === "down" && !state.isLooping) return Promise.reject(unavailable(name, state.reason));
  return member.open(signal);
}

async function orMissing<T>(
  seat: Seat,
  part: (seat: Seat) => Promise<readonly T[]>,
): Promise<{ readonly items: readonly T[]; readonly lacks: readonly Missing[] }> {
  try {
    return { items: await part(seat), lacks: [] };
  } catch (error) {
    const failure = error instanceof McpError ? error : new McpError("internal", String(error), { cause: error });
    return { items: [], lacks: [missing(seat.name, toFailure(failure))] };
  }
}
