import type { Method } from "../protocol/methods.ts";
import type { CallOf, OutcomeOf } from "../protocol/service.ts";
import type { HostTool, Listing } from "./host-tool.ts";
import { toListing, toToolListing } from "./host-tool.ts";
import type { CallerListings, CallerListOptions } from "./list-cache.ts";

/** What a call, or an entry of a list, is about. */
export interface GuardSubject {
  readonly kind: "tool" | "prompt" | "resource" | "template";
  readonly server: string;
  /** What the server itself calls it: a name, a URI or a URI template. */
  readonly name: string;
  /** The tool as its server lists it, where that is known. */
  readonly tool?: HostTool | undefined;
}

/** Says what the callers of a served host may see and do. */
export interface CallGuard {
  /** `open`: nothing is judged, calls are heard of. `report`: nothing is refused. `enforce`: what is refused is hidden. */
  readonly mode: "open" | "report" | "enforce";
  /** Whether a caller may know of something. Always true unless the guard enforces. */
  sees(caller: CallOf, subject: GuardSubject): boolean;
  /** Whether a caller may know of anything that a server has. */
  seesServer(caller: CallOf, server: string): boolean;
  /** A tool as its caller sees it. */
  shown(caller: CallOf, tool: HostTool): HostTool;
  /** Sends a call, if its caller may make it. What comes of it may have less than what the server gave. */
  pass<M extends Method>(
    subject: GuardSubject,
    call: CallOf<M>,
    send: (call: CallOf<M>) => Promise<OutcomeOf<M>>,
  ): Promise<OutcomeOf<M>>;
}

/** The lists of callers, without what they may not know of. */
export function guardListings(listings: CallerListings, guard: CallGuard | undefined): CallerListings {
  if (guard === undefined || guard.mode === "open") return listings;
  const only = async <T extends { readonly server: string }>(
    listed: Promise<Listing<T>>,
    { caller }: CallerListOptions,
    toSubject: (item: T) => GuardSubject,
  ): Promise<Listing<T>> => {
    const all = await listed;
    if (caller === undefined) return all;
    const items = all.filter((item) => guard.sees(caller, toSubject(item)));
    return toListing(
      items,
      all.missing.filter(({ server }) => guard.seesServer(caller, server)),
    );
  };

  return {
    ...listings,
    async listTools(options = {}) {
      const { caller } = options;
      const all = await listings.listTools(options);
      if (caller === undefined) return all;
      const tools = await only<HostTool>(Promise.resolve(all), options, toolSubject);
      const shown = tools.map((tool) => guard.shown(caller, tool));
      return toToolListing(toListing(shown, tools.missing), []);
    },
    listPrompts: (options = {}) =>
      only(listings.listPrompts(options), options, ({ server, name }) => ({ kind: "prompt", server, name })),
    listResources: (options = {}) =>
      only(listings.listResources(options), options, ({ server, uri }) => ({ kind: "resource", server, name: uri })),
    listResourceTemplates: (options = {}) =>
      only(listings.listResourceTemplates(options), options, ({ server, uriTemplate: name }) => ({
        kind: "template",
        server,
        name,
      })),
  };
}

/** A tool, as a guard judges it. */
export function toolSubject(tool: HostTool): GuardSubject {
  return { kind: "tool", server: tool.server, name: tool.localName, tool };
}
