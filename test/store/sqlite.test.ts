import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openStore } from "../../src/store/node/index.ts";
import { root } from "../e2e/support/places.ts";
import { testContract } from "./contract.ts";
import { storeModel } from "./model.ts";
import { hasSqlite, testWithSqlite } from "./node22.ts";
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
  testContract("sqliteStore", async () => newPlace());
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

  testWithSqlite("test/store/sqlite.test.ts", 70);
}
