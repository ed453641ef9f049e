import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./programs.mjs";

/** Tells one build from another: figures of two must not be mixed. */
export function fingerprint() {
  const folder = join(root, "dist");
  const hash = createHash("sha256");
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".js"));
  for (const name of names.toSorted()) hash.update(name).update(readFileSync(join(folder, name)));
  return hash.digest("hex").slice(0, 12);
}
