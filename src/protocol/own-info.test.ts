import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { ownInfo } from "./own-info.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const { name, version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

it("is the name and the version of the manifest (X9)", () => {
  expect(ownInfo).toEqual({ name, version });
});

it("is the only place in the sources that says the version (X9)", () => {
  const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" });
  const code = sources.filter((file) => /\.ts$/.test(file) && !/\.test(-d)?\.ts$/.test(file));
  const saying = code.filter((file) => readFileSync(join(root, "src", file), "utf8").includes(`"${version}"`));
  expect(saying).toEqual([join("protocol", "own-info.ts")]);
});
