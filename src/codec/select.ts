import type { Revision } from "../model/revision.ts";
import type { Codec } from "./codec.ts";
import { createLegacyCodec } from "./legacy.ts";
import { createModernCodec } from "./modern.ts";
import { r2024_11_05 } from "./r2024-11-05.ts";
import { r2025_03_26 } from "./r2025-03-26.ts";
import { r2025_06_18 } from "./r2025-06-18.ts";
import { r2025_11_25 } from "./r2025-11-25.ts";
import { r2026_07_28 } from "./r2026-07-28.ts";

const codecs: { readonly [R in Revision]: Codec } = {
  "2024-11-05": createLegacyCodec(r2024_11_05),
  "2025-03-26": createLegacyCodec(r2025_03_26),
  "2025-06-18": createLegacyCodec(r2025_06_18),
  "2025-11-25": createLegacyCodec(r2025_11_25),
  "2026-07-28": createModernCodec(r2026_07_28),
};

/** The codec of a revision. Always the same one: it remembers what it encoded. */
export function codecFor(revision: Revision): Codec {
  return codecs[revision];
}
