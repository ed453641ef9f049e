import type { Json } from "../../json/json.ts";
import type { SchemaNote } from "../bridge.ts";

/** A note on one schema. */
export type Note = Omit<SchemaNote, "tool">;

/**
 * Collects the keywords that the converted schema leaves out. Duplicates are dropped, and one schema has at most {@link
 * maxNotes}.
 */
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

/**
 * A keyword as text for the model, because the converted schema cannot contain it. Undefined when it is too long to
 * help.
 */
export function hintOf(keyword: string, value: Json): readonly string[] {
  const text = `${keyword} ${typeof value === "string" ? value : JSON.stringify(value)}`;
  return text.length > maxHintLength ? [] : [text];
}

const maxHintLength = 200;

/** The maximum number of hints in one description. */
const maxHints = 10;

/** Something that is described, and hints on what cannot be said otherwise. */
export interface Description {
  readonly description?: string;
  readonly hints: readonly string[];
}

/** The first description, with all hints after it: `Size (minimum 1; format uuid)`. Nothing when there is nothing to say. */
export function describe(...about: readonly Description[]): { readonly description?: string } {
  const [first] = about.flatMap(({ description }) => description ?? []);
  const hints = [...new Set(about.flatMap((one) => one.hints))].slice(0, maxHints).join("; ");
  if (hints === "") return first === undefined ? {} : { description: first };
  return { description: first === undefined ? hints : `${first} (${hints})` };
}

/** Notes keywords that cannot be converted, and returns hints for them. Keywords without a value are ignored. */
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
