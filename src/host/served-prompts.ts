import type { Result } from "../protocol/methods.ts";
import type { Prompt } from "../protocol/prompt.ts";
import { type CallOf, signalOf } from "../protocol/service.ts";
import { withAbsent } from "./absent-lists.ts";
import { fullPlace } from "./calls.ts";
import { type HostPrompt, qualify, withoutPlace } from "./host-tool.ts";
import { createListMemo, createListPages, type ListPages } from "./list-pages.ts";
import { createNameTable, type NameTable, type Place } from "./name-table.ts";
import { type ServedListOptions, type ServedPage, withSeen } from "./served-tools.ts";
import type { ServerSlot } from "./server-slot.ts";
import { ambiguousName, unknownPrompt } from "./unknown-names.ts";

/** The prompts of a served host, as the callers of one view see them. */
export interface ServedPrompts {
  list(call: CallOf<"prompts/list">): Promise<ServedPage<Result<"prompts/list">>>;
  /** Rejects with `invalid-params` where there is no prompt of the name. */
  find(name: string, call: CallOf): Promise<{ readonly slot: ServerSlot; readonly name: string }>;
}

export function createServedPrompts(options: ServedListOptions): ServedPrompts {
  const { slots, view, listings, guard } = options;
  const nameAll = createListMemo((prompts: readonly HostPrompt[]) => namePrompts(prompts, options));
  const isIn = ({ server, name }: HostPrompt): boolean => view.hasPrompt(server, name);

  const look = async (caller: CallOf) => {
    const listing = await listings.listPrompts({ signal: signalOf(caller), caller });
    const all = withSeen(guard, listing) ?? withAbsent(slots, listing, ({ prompts }) => prompts.last);
    return { listing, named: nameAll(all.filter(isIn)) };
  };

  /** What a name leads to that needs no look at lists. */
  const placeOf = (name: string): Place | undefined => {
    const { only } = view;
    const place = fullPlace(slots, name) ?? (only === undefined ? undefined : { server: only, localName: name });
    return place !== undefined && view.hasPrompt(place.server, place.localName) ? place : undefined;
  };

  return {
    async list(call) {
      const { listing, named } = await look(call);
      return { page: named.toPages(listing.filter(isIn)).page(call.params.cursor), listing };
    },
    async find(name, call) {
      // Where prompts may be hidden, only those that the caller sees can be had.
      const direct = guard?.mode === "enforce" ? undefined : placeOf(name);
      const slot = direct && slots.get(direct.server);
      if (direct !== undefined && slot !== undefined) return { slot, name: direct.localName };
      const { listing, named } = await look(call);
      const found =
        named.table.find(name) ??
        listing
          .filter(isIn)
          .map(toPlace)
          .find((place) => fullName(place) === name);
      const owner = found && slots.get(found.server);
      if (found !== undefined && owner !== undefined) return { slot: owner, name: found.localName };
      const meant = named.table.meant(name);
      if (meant.length > 1) throw ambiguousName("prompt", name, meant);
      throw unknownPrompt(name, listing.filter(isIn).map(named.nameOf), listing.missing);
    },
  };
}

function toPlace({ server, name }: HostPrompt): Place {
  return { server, localName: name };
}

function fullName({ server, localName }: Place): string {
  return qualify(server, localName);
}

interface NamedPrompts {
  readonly table: NameTable<Place>;
  nameOf(prompt: HostPrompt): string;
  /** The pages of these prompts, or of some of them. */
  toPages(prompts: readonly HostPrompt[]): ListPages<Result<"prompts/list">>;
}

function namePrompts(prompts: readonly HostPrompt[], options: ServedListOptions): NamedPrompts {
  const { slots, view, pageSize, onCollisions } = options;
  const places = new Map(prompts.map((prompt) => [prompt, { server: prompt.server, localName: prompt.name }]));
  const rules = { isPrefixed: view.isPrefixed, renamed: () => undefined, servers: [...slots.keys()] };
  const table = createNameTable<Place>([...places.values()], rules);
  onCollisions("prompts", table.collisions);
  const nameOf = (prompt: HostPrompt): string => {
    const place = places.get(prompt);
    return place === undefined ? prompt.name : table.nameOf(place);
  };
  const toPages = createListMemo((shown: readonly HostPrompt[]) => {
    const plain = shown.map((prompt) => ({ ...withoutPlace(prompt), name: nameOf(prompt) }));
    return createListPages<Prompt, Result<"prompts/list">>(plain, {
      member: "prompts",
      pageSize,
      keyOf: ({ name }) => name,
    });
  });
  return { table, nameOf, toPages };
}
