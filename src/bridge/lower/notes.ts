import type { Json } from "../../json/json.ts";
import type { SchemaNote } from "../bridge.ts";

/** A note on one schema. */
export type Note = Omit<SchemaNote, "tool">;

/** Collects what a provider is not told. The same is noted once, and no more than {@link maxNotes} for one schema. */
export interface Notes {
  add(pointer: string, keyword: string, message: string): void;
  readonly list: readonly Note[];
}

export const maxNotes = 100;

export function createNotes(): Notes {
  const list: Note[] = [];
  const known = new Set<string>();
  return {
    list,
    add(pointer, keyword, message) {
      const key = JSON.stringify([pointer, keyword, message]);
      if (known.has(key) || list.length >= maxNotes) return;
      known.add(key);
      list.push({ pointer, keyword, message });
    },
  };
}

/** A keyword for the model to read, because its schema cannot have it. None when it is too long to help. */
export function hintOf(keyword: string, value: Json): readonly string[] {
  const text = `${keyword} ${typeof value === "string" ? value : JSON.stringify(value)}`;
  return text.length > maxHintLength ? [] : [text];
}

const maxHintLength = 200;

/** More than this helps nobody. */
const maxHints = 10;

/** Something that is described, and hints on what cannot be said otherwise. */
export interface About {
  readonly description?: string;
  readonly hints: readonly string[];
}

/** The first description, with all hints after it: `Size (minimum 1; format uuid)`. Nothing when there is nothing to say. */
export function describe(...about: readonly About[]): { readonly description?: string } {
  const [first] = about.flatMap(({ description }) => description ?? []);
  const hints = [...new Set(about.flatMap((one) => one.hints))].slice(0, maxHints).join("; ");
  if (hints === "") return first === undefined ? {} : { description: first };
  return { description: first === undefined ? hints : `${first} (${hints})` };
}

/** Notes keywords that cannot be said, and gives hints in their place. Those without a value are none. */
export function hintsFor(
  at: string,
  notes: Notes,
  unsaid: readonly (readonly [keyword: string, value: Json | undefined])[],
): readonly string[] {
  return unsaid.flatMap(([keyword, value]) => {
    if (value === undefined) return [];
    notes.add(at, keyword, "left out");
    return hintOf(keyword === "enum" ? "one of" : keyword, value);
  });
}
