import { binary, node, steps } from "./run.mjs";

steps([
  ["format and lint", () => node(binary("@biomejs/biome", "biome"), "ci", "--error-on-warnings", ".")],
  ["types", () => node(binary("typescript", "tsc"), "-p", "tsconfig.json")],
  [
    "types without a platform",
    () => node(binary("typescript", "tsc"), "-p", "tsconfig.web.json", "--noEmit", "--composite", "false"),
  ],
  ["unit tests", () => node(binary("vitest"), "run", "--project", "unit")],
]);
