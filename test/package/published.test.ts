import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

const run = promisify(execFile);

/** Runs a tool of `node_modules` on this package. Rejects, with what it printed, when it finds something. */
async function inspect(script: string, ...args: readonly string[]): Promise<string> {
  const file = resolve("node_modules", script);
  const { stdout } = await run(process.execPath, [file, ...args], { maxBuffer: 1 << 24 }).catch((error) => {
    throw new Error(`${script} complains:\n${error.stdout}\n${error.stderr}`);
  });
  return stdout;
}

describe("the published package", () => {
  it("has a manifest that publint likes", async () => {
    await inspect("publint/src/cli.js", "--strict");
  });

  it("has types that every module resolution finds", async () => {
    await inspect("@arethetypeswrong/cli/dist/index.js", "--pack", ".", "--profile", "esm-only");
  });

  it("has no unused file, export or dependency", async () => {
    await inspect("knip/bin/knip.js");
  });

  it("has the dependencies that were decided on, and a lock file without download addresses (V39)", () => {
    const { dependencies } = JSON.parse(readFileSync("package.json", "utf8"));
    expect(Object.keys(dependencies)).toEqual([
      "@clack/prompts",
      "jose",
      "jsonc-parser",
      "oauth4webapi",
      "prom-client",
      "smol-toml",
      "typebox",
      "yaml",
    ]);
    expect(readFileSync("package-lock.json", "utf8")).not.toContain('"resolved"');
  });
});
