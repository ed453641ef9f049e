import { chmodSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { openStore } from "../../src/store/node/index.ts";
import type { SqliteConnection, SqliteModule } from "../../src/store/node/sqlite-database.ts";
import { sqliteStore } from "../../src/store/node/sqlite-store.ts";
import type { Store } from "../../src/store/store.ts";
import { createManualClock, type ManualClock } from "../../src/testing/clock.ts";
import { newPath } from "./sqlite-place.ts";
import { given, LONG, next, rejects } from "./support.ts";

const DAY = 86_400_000;

/** What concerns the file and is no part of the contract. */
export function fileTests(): void {
  it.skipIf(process.platform === "win32")("is for its owner only, and so are its neighbours", async () => {
    const path = newPath();
    const { store } = await open(path);
    await store.values.put("a", "1");
    for (const name of [path, `${path}-wal`, `${path}-shm`]) expect(statSync(name).mode & 0o777).toBe(0o600);
  });

  it.skipIf(process.platform === "win32")(
    "that is world-writable or group-writable is warned of when it is opened",
    async () => {
      const path = newPath();
      const warnings: unknown[] = [];
      const onWarning = (warning: unknown): void => void warnings.push(warning);
      await (await openStore(`sqlite:${path}`, { onWarning })).close();
      expect(warnings).toEqual([]);
      chmodSync(path, 0o666);
      await (await openStore(`sqlite:${path}`, { onWarning })).close();
      expect(warnings).toEqual([
        { kind: "writable-by-others", message: expect.stringMatching(/can be written by everybody.*chmod 600/) },
      ]);
      const error = vi.spyOn(console, "error").mockImplementation(() => {});
      await (await openStore(`sqlite:${path}`)).close();
      expect(error.mock.calls).toEqual([[expect.stringMatching(/^plugbay: sqlite: the file .* can be written by/)]]);
      error.mockRestore();
    },
  );

  it("is not made in a folder that does not exist", async () => {
    const path = join(dirname(newPath()), "none", "store.db");
    await rejects(() => sqliteStore(path), "invalid");
    await expect(sqliteStore(path)).rejects.toThrow(`the folder of ${path} does not exist`);
    await rejects(() => sqliteStore(dirname(newPath())), "invalid");
  });

  it("is not one that has something else in it", async () => {
    const [text, database, later] = [newPath(), newPath(), newPath()];
    writeFileSync(text, "not a database. ".repeat(100));
    await rejects(() => sqliteStore(text), "invalid");
    await expect(sqliteStore(text)).rejects.toThrow(`${text} is not a database`);

    (await connect(database)).exec("CREATE TABLE mine (a)");
    await expect(sqliteStore(database)).rejects.toThrow(`${database} is not a store but another database`);

    await (await sqliteStore(later)).close();
    (await connect(later)).exec("PRAGMA user_version = 99");
    await rejects(() => sqliteStore(later), "invalid");
    await expect(sqliteStore(later)).rejects.toThrow("has version 99 of the format");
  });

  it("can be opened by many at once when it is new", async () => {
    const path = newPath();
    const stores = await Promise.all(Array.from({ length: 8 }, () => open(path)));
    for (const { store } of stores) await store.values.add("a", 1, LONG);
    expect(await stores[0]?.store.values.add("a", 0, LONG)).toBe(8);
  });

  it("makes calls reject with `unavailable` while somebody else does not let go of it", async () => {
    const path = newPath();
    const { store } = await open(path);
    await store.values.put("a", "1");
    const other = await connect(path);
    other.exec("BEGIN IMMEDIATE");
    expect((await store.values.get("a"))?.text).toBe("1");
    await rejects(() => store.values.put("a", "2"), "unavailable");
    other.exec("ROLLBACK");
    expect(await store.values.put("a", "3")).toBeTypeOf("string");
  });

  it("gives back the room of what is due", async () => {
    const path = newPath();
    const { store, clock } = await open(path);
    const count = 2_500;
    for (let i = 0; i < count; i++) {
      await store.values.put(`${i}`, "1", { ttlMs: 1_000, group: "g" });
      await store.values.add(`${i}`, 1, 1_000);
      await store.streams.append(`${i}`, ["1", "2"], { ttlMs: 1_000 });
      await store.leases.acquire(`${i}`, 1_000);
      await store.topics.publish("a", "1");
    }
    await store.values.put("kept", "1");
    clock.advance(11_000);
    const rows = await counter(path);
    expect(rows("value")).toBe(1);
    expect(["number", "stream", "event"].map(rows)).toEqual([0, 0, 0]);
    expect(["lease", "message"].map(rows)).toEqual([count, count]);
    clock.advance(80_000);
    expect(rows("message")).toBe(0);
    clock.advance(DAY);
    expect(rows("lease")).toBe(0);
  }, 120_000);

  it("has no timer left after closing", async () => {
    const { store, clock } = await open(newPath());
    await store.topics.subscribe("a");
    expect(clock.pending).toBe(2);
    await store.close();
    expect(clock.pending).toBe(0);
  });

  it("is not looked at when nobody listens any more", async () => {
    const { store, clock } = await open(newPath());
    const subscription = await store.topics.subscribe("a");
    await subscription.close();
    expect(clock.pending).toBe(1);
  });

  it("grows tokens and refuses old ones after all leases are forgotten", async () => {
    const path = newPath();
    const { store, clock } = await open(path);
    const old = given(await store.leases.acquire("a", 1_000));
    clock.advance(1_000);
    const last = given(await store.leases.acquire("a", 1_000));
    clock.advance(2 * DAY);
    expect((await counter(path))("lease")).toBe(0);
    expect(await store.values.put("a", "1", { fence: old.token })).toBeUndefined();
    expect(await store.values.put("a", "1", { fence: last.token })).toBeTypeOf("string");
    expect(given(await store.leases.acquire("a", 1_000)).token).toBeGreaterThan(last.token);
  });

  it("has a gap for a subscriber that did not look while messages were dropped", async () => {
    const path = newPath();
    const [asleep, awake] = [await open(path), await open(path)];
    const subscription = await asleep.store.topics.subscribe("a");
    await awake.store.topics.publish("a", "1");
    asleep.clock.advance(100);
    await awake.store.topics.publish("a", "missed");
    await awake.clock.advanceAsync(120_000);
    await awake.store.topics.publish("a", "2");
    asleep.clock.advance(100);
    expect(await next(subscription, 3)).toEqual(["1", null, "2"]);
  });
}

/** Opens a store with a clock of its own, which is closed after the test. */
async function open(path: string): Promise<{ store: Store; clock: ManualClock }> {
  const clock = createManualClock(Date.now());
  const store = await sqliteStore(path, { clock });
  onTestFinished(() => store.close());
  return { store, clock };
}

/** Opens the file without the store. */
async function connect(path: string): Promise<SqliteConnection> {
  const specifier: string = "node:sqlite";
  const { DatabaseSync }: SqliteModule = await import(/* @vite-ignore */ specifier);
  const connection = new DatabaseSync(path);
  onTestFinished(() => connection.close());
  return connection;
}

/** Counts the rows of a table. */
async function counter(path: string): Promise<(table: string) => number> {
  const connection = await connect(path);
  return (table) => (connection.prepare(`SELECT count(*) AS rows FROM ${table}`).get() as { rows: number }).rows;
}
