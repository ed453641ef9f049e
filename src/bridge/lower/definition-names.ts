import type { Json } from "../../json/json.ts";
import { pointerKeys } from "../../schema/pointer.ts";

/** Names for what references lead to, under which they are all put in one place. */
export interface DefinitionNames {
  /** The name of what a reference leads to. */
  refer(reference: string): string;
  /** A name for something that no reference leads to. */
  invent(): string;
  /** Everything that was referred to so far. Grows while it is read. */
  readonly known: ReadonlyMap<Json, Definition>;
}

export interface Definition {
  readonly name: string;
  /** JSON Pointer to where it is; where that is not written down, the reference itself. */
  readonly at: string;
}

export function createDefinitionNames(targets: ReadonlyMap<string, Json>): DefinitionNames {
  const known = new Map<Json, Definition>();
  const taken = new Set<string>();
  const take = (reference: string): string => {
    const name = freeName(reference, taken);
    taken.add(name);
    return name;
  };
  return {
    known,
    refer(reference) {
      const target = targets.get(reference) ?? false;
      const definition = known.get(target) ?? { name: take(reference), at: reference.replace(/^#(?=\/|$)/, "") };
      known.set(target, definition);
      return definition.name;
    },
    invent: () => take("#"),
  };
}

/** The name that a definition has, made fit for a pointer, and different from all others. */
function freeName(reference: string, taken: ReadonlySet<string>): string {
  const last = pointerKeys(reference).at(-1) ?? reference;
  const base = last.replace(/[^A-Za-z0-9_-]/g, "_").replace(/^_+$/, "") || "schema";
  for (let count = 1; ; count++) {
    const name = count === 1 ? base.slice(0, 60) : `${base.slice(0, 55)}_${count}`;
    if (!taken.has(name)) return name;
  }
}
