import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openStore } from "../../src/store/node/index.ts";
import { root } from "../e2e/support/places.ts";
import { run } from "../e2e/support/run.ts";
import { storeContract } from "./contract.ts";
import { storeModel } from "./model.ts";
import { hasSqlite, node22 } from "./node22.ts";
import { fileTests } from "./sqlite-file.ts";
import { newPlace } from "./sqlite-place.ts";
import { processTests } from "./sqlite-processes.ts";

// Where Node has no SQLite, this file runs itself with one that has it.

describe("the Node that has SQLite", () => {
  it("has a lock file without download addresses", () => {
    expect(readFileSync(join(root, "test/store/node22/package-lock.json"), "utf8")).not.toContain('"resolved"');
  });
});

if (hasSqlite) {
  storeContract("sqliteStore", async () => newPlace());
  storeModel("sqliteStore", async () => newPlace());
  storeModel("sqliteStore, with its time in our hands,", async () => newPlace({ manual: true }));
  describe("the file of sqliteStore", fileTests);
  describe("sqliteStore in several processes", processTests);
} else {
  it("says which Node it needs", async () => {
    const opening = openStore("sqlite:./never-made.db");
    await expect(opening).rejects.toMatchObject({ name: "StoreError", code: "unsupported" });
    const message = `sqlite: needs Node 22.13 or newer; this is Node ${process.versions.node}; use redis: or memory:`;
    await expect(opening).rejects.toThrow(message);
  });

  const node = node22();
  it.skipIf(node === undefined)(
    "passes all tests with a newer Node",
    async () => {
      const { code, output, report } = await runWith(node ?? "");
      expect({ code, output: code === 0 ? "" : output }).toEqual({ code: 0, output: "" });
      expect(report).toMatchObject({ success: true, numFailedTests: 0, numPendingTests: 0 });
      expect(report.numPassedTests).toBeGreaterThan(70);
    },
    300_000,
  );
}

interface Report {
  readonly success: boolean;
  readonly numPassedTests: number;
}

async function runWith(node: string): Promise<{ code: number | null; output: string; report: Report }> {
  const folder = mkdtempSync(join(tmpdir(), "plugbay-sqlite-"));
  const report = join(folder, "report.json");
  try {
    const vitest = join(root, "node_modules/vitest/vitest.mjs");
    const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
    const args = [vitest, "run", "--project", "e2e", ...reporters, "test/store/sqlite.test.ts"];
    const { code, stdout, stderr } = await run({ command: node, args });
    return { code, output: stdout + stderr, report: JSON.parse(readFileSync(report, "utf8")) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
