import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../e2e/support/places.ts";

/**
 * A block of TypeScript in a page. `ts` is a complete program that is compiled, `ts run` is also run to its end, `ts
 * fragment` is neither.
 */
export interface Fence {
  readonly kind: "" | "run" | "fragment";
  readonly line: number;
  /** The file that its first line names, as in `// shop.ts`, without the extension. */
  readonly name: string | undefined;
  readonly code: string;
}

/** The blocks of a page, in order. */
export function fencesIn(page: string): readonly Fence[] {
  const text = readFileSync(join(root, page), "utf8");
  return [...text.matchAll(/^```ts(?: ([a-z]+))?\n(.*?)^```$/gms)].map(({ 1: kind = "", 2: code = "", index }) => ({
    kind: kind as Fence["kind"],
    line: text.slice(0, index).split("\n").length,
    name: /^\/\/ ([\w./-]+)\.ts$/m.exec(code.split("\n", 1)[0] ?? "")?.[1],
    code,
  }));
}
