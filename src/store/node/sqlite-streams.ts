import { checkAppend, checkCount, checkName } from "../check.ts";
import type { AppendOptions, StoreStreams, StreamPage } from "../store.ts";
import { type SqliteDatabase, type Stored, storedName, storedText, textOf } from "./sqlite-database.ts";
import { allows } from "./sqlite-leases.ts";

interface Row {
  readonly id: number;
  /** The position before the oldest event that is kept. */
  readonly dropped: number;
  readonly last: number;
}

const READ_MAX = 1_000;

export function sqliteStreams(db: SqliteDatabase): StoreStreams {
  return {
    append(name, texts, options = {}) {
      db.ensureOpen();
      checkAppend(name, options);
      return db.write(() => (allows(db, name, options.fence) ? append(db, name, texts, options) : undefined));
    },
    read(name, after, limit = READ_MAX) {
      db.ensureOpen();
      checkName(name);
      checkCount("a position", after, 0);
      checkCount("a limit", limit, 1);
      return db.read(() => read(db, find(db, name), after, limit));
    },
    trim(name, through) {
      db.ensureOpen();
      checkName(name);
      checkCount("a position", through, 0);
      db.write(() => {
        const stream = find(db, name);
        if (stream !== undefined) drop(db, stream, through);
      });
    },
    delete(name) {
      db.ensureOpen();
      checkName(name);
      db.write(() => forget(db, name));
    },
  };
}

function find(db: SqliteDatabase, name: string): Row | undefined {
  const sql = "SELECT id, dropped, last FROM stream WHERE name = ? AND (due IS NULL OR due > ?)";
  return db.get<Row>(sql, storedName(name), db.clock.now());
}

function append(db: SqliteDatabase, name: string, texts: readonly string[], { ttlMs, keep }: AppendOptions): number {
  const { id, dropped, last: before } = find(db, name) ?? create(db, name);
  const insert = "INSERT INTO event VALUES (?, ?, ?)";
  for (const [index, text] of texts.entries()) db.run(insert, id, before + index + 1, storedText(text));
  const last = before + texts.length;
  const due = ttlMs === undefined ? null : db.clock.now() + ttlMs;
  db.run("UPDATE stream SET last = ?, due = ? WHERE id = ?", last, due, id);
  if (keep !== undefined) drop(db, { id, dropped, last }, last - keep);
  return last;
}

function create(db: SqliteDatabase, name: string): Row {
  forget(db, name);
  const row = db.get<{ id: number }>(
    "INSERT INTO stream (name, dropped, last) VALUES (?, 0, 0) RETURNING id",
    storedName(name),
  );
  return { id: row?.id ?? 0, dropped: 0, last: 0 };
}

/** Drops events up to and with a position. */
function drop(db: SqliteDatabase, { id, dropped, last }: Row, through: number): void {
  const end = Math.min(through, last);
  if (end <= dropped) return;
  db.run("DELETE FROM event WHERE stream = ? AND position <= ?", id, end);
  db.run("UPDATE stream SET dropped = ? WHERE id = ?", end, id);
}

/** Forgets a stream, whether it is due or not. */
function forget(db: SqliteDatabase, name: string): void {
  const row = db.get<Row>("DELETE FROM stream WHERE name = ? RETURNING id", storedName(name));
  if (row !== undefined) db.run("DELETE FROM event WHERE stream = ?", row.id);
}

function read(db: SqliteDatabase, stream: Row | undefined, after: number, limit: number): StreamPage {
  if (stream === undefined) return { events: [], last: 0, lost: after > 0 };
  const sql = "SELECT position, text FROM event WHERE stream = ? AND position > ? ORDER BY position LIMIT ?";
  const events = db
    .all<{ position: number; text: Stored }>(sql, stream.id, after, limit)
    .map(({ position, text }) => ({ position, text: textOf(text) }));
  return { events, last: stream.last, lost: after < stream.dropped || after > stream.last };
}
