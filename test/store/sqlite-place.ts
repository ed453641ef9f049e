import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { sqliteStore } from "../../src/store/node/sqlite-store.ts";
import { createManualClock } from "../../src/testing/clock.ts";
import type { StorePlace } from "./contract.ts";

/** A new file in a folder of its own. `manual`: its time passes only when it is told to. */
export function newPlace({ manual = false } = {}): StorePlace {
  const folder = mkdtempSync(join(tmpdir(), "plugbay-store-"));
  const path = join(folder, "store.db");
  const clock = createManualClock(Date.now());
  return {
    open: () => sqliteStore(path, manual ? { clock } : {}),
    ...(manual ? { advance: (ms: number) => clock.advance(ms) } : {}),
    tooManyMessages: 25_000,
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** The path for a new file. Its folder is removed after the test. */
export function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), "plugbay-store-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "store.db");
}
