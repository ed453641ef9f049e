import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(new URL("../../package.json", import.meta.url));

/** Imports the built package by one of its public names, such as `plugbay/server`, as its users do. */
export function published(name) {
  return import(pathToFileURL(require.resolve(name)).href);
}
