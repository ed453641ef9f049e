import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./run.mjs";

/** The source, below the root, of a file of the package as it is published. */
export function sourceOf(file) {
  return file.replace("./dist/", "src/").replace(/(\.d\.ts|\.js)$/, ".ts");
}

/** The sources of an entry of `exports`, under all conditions. What is put together for Node alone has none. */
export function sourcesOf(entry) {
  const files = typeof entry === "string" ? [entry] : Object.values(entry).flatMap(sourcesOf);
  return [...new Set(files.map(sourceOf).filter((file) => file.startsWith("src/") && !file.startsWith("src/node/")))];
}

/** `exports` of package.json. */
export function readExports() {
  return JSON.parse(readFileSync(join(root, "package.json"), "utf8")).exports;
}
