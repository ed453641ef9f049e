import { checkAmount, checkList, checkName, checkPut, checkTtl } from "../check.ts";
import type { NamedValue, PutOptions, StoredValue, StoreListOptions, StoreValues, WriteConditions } from "../store.ts";
import { nameOf, type SqliteDatabase, type Stored, storedName, storedText, textOf } from "./sqlite-database.ts";
import { allows, count } from "./sqlite-leases.ts";

interface Row {
  readonly name: Stored;
  readonly text: Stored;
  readonly version: number;
}

const LIST_MAX = 100;

export function sqliteValues(db: SqliteDatabase): StoreValues {
  return {
    get(name) {
      db.ensureOpen();
      checkName(name);
      return db.read(() => find(db, name));
    },
    put(name, text, options = {}) {
      db.ensureOpen();
      checkPut(name, options);
      return db.write(() => (isMet(db, name, options) ? put(db, name, text, options) : undefined));
    },
    touch(name, ttlMs) {
      db.ensureOpen();
      checkName(name);
      checkTtl(ttlMs);
      const sql = "UPDATE value SET due = ? WHERE name = ? AND (due IS NULL OR due > ?)";
      const now = db.clock.now();
      return db.write(() => db.run(sql, now + ttlMs, storedName(name), now) > 0);
    },
    delete(name, options = {}) {
      db.ensureOpen();
      checkName(name);
      return db.write(() => isMet(db, name, options) && remove(db, name));
    },
    list(group, options = {}) {
      db.ensureOpen();
      checkList(group, options);
      return db.read(() => list(db, group, options));
    },
    add(name, amount, ttlMs) {
      db.ensureOpen();
      checkName(name);
      checkAmount(amount);
      checkTtl(ttlMs);
      return db.write(() => add(db, name, amount, ttlMs));
    },
  };
}

function find(db: SqliteDatabase, name: string): StoredValue | undefined {
  const sql = "SELECT text, version FROM value WHERE name = ? AND (due IS NULL OR due > ?)";
  const row = db.get<Row>(sql, storedName(name), db.clock.now());
  return row && { text: textOf(row.text), version: String(row.version) };
}

function isMet(db: SqliteDatabase, name: string, { version, fence }: WriteConditions): boolean {
  return (version === undefined || version === (versionOf(db, name) ?? null)) && allows(db, name, fence);
}

function versionOf(db: SqliteDatabase, name: string): string | undefined {
  const sql = "SELECT version FROM value WHERE name = ? AND (due IS NULL OR due > ?)";
  const row = db.get<Row>(sql, storedName(name), db.clock.now());
  return row && String(row.version);
}

function put(db: SqliteDatabase, name: string, text: string, { ttlMs, group }: PutOptions): string {
  const version = count(db, "version");
  const due = ttlMs === undefined ? null : db.clock.now() + ttlMs;
  const sql = "INSERT OR REPLACE INTO value (name, text, version, due, grp) VALUES (?, ?, ?, ?, ?)";
  db.run(sql, storedName(name), storedText(text), version, due, group === undefined ? null : storedName(group));
  return String(version);
}

function remove(db: SqliteDatabase, name: string): boolean {
  const sql = "DELETE FROM value WHERE name = ? AND (due IS NULL OR due > ?)";
  return db.run(sql, storedName(name), db.clock.now()) > 0;
}

function list(db: SqliteDatabase, group: string, { after, limit = LIST_MAX }: StoreListOptions): readonly NamedValue[] {
  const sql = `SELECT name, text, version FROM value
    WHERE grp = ? AND name ${after === undefined ? ">=" : ">"} ? AND (due IS NULL OR due > ?) ORDER BY name LIMIT ?`;
  const rows = db.all<Row>(sql, storedName(group), storedName(after ?? ""), db.clock.now(), limit);
  return rows.map(({ name, text, version }) => ({
    name: nameOf(name),
    text: textOf(text),
    version: String(version),
  }));
}

function add(db: SqliteDatabase, name: string, amount: number, ttlMs: number): number {
  const now = db.clock.now();
  db.run("DELETE FROM number WHERE name = ? AND due <= ?", storedName(name), now);
  const sql = `INSERT INTO number VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET sum = sum + excluded.sum RETURNING sum`;
  return db.get<{ sum: number }>(sql, storedName(name), amount, now + ttlMs)?.sum ?? amount;
}
