import type { Dialect } from "../../protocol/codec/dialect.ts";
import type { LegacyRevision } from "../../protocol/revision.ts";
import { r2024_11_05 } from "./r2024-11-05.ts";
import { r2025_03_26 } from "./r2025-03-26.ts";
import { r2025_06_18 } from "./r2025-06-18.ts";
import { r2025_11_25 } from "./r2025-11-25.ts";

const dialects: { readonly [R in LegacyRevision]: Dialect } = {
  "2024-11-05": r2024_11_05,
  "2025-03-26": r2025_03_26,
  "2025-06-18": r2025_06_18,
  "2025-11-25": r2025_11_25,
};

/** Makes something for every legacy revision when it is first asked for. Codecs remember, so there is one of each. */
export function perRevision<T>(make: (dialect: Dialect) => T): (revision: LegacyRevision) => T {
  const made = new Map<LegacyRevision, T>();
  return (revision) => {
    const known = made.get(revision) ?? make(dialects[revision]);
    made.set(revision, known);
    return known;
  };
}
