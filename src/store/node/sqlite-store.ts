import { resolve } from "node:path";
import { type Clock, systemClock } from "../../std/clock.ts";
import type { Store } from "../store.ts";
import { openDatabase, type SqliteDatabase, type WarnOfStore } from "./sqlite-database.ts";
import { sqliteLeases } from "./sqlite-leases.ts";
import type { StoreWarning } from "./sqlite-permissions.ts";
import { sqliteStreams } from "./sqlite-streams.ts";
import { sqliteTopics } from "./sqlite-topics.ts";
import { sqliteValues } from "./sqlite-values.ts";

interface SqliteStoreOptions {
  /** Shows the time of day: the one time that all processes on this machine share. */
  readonly clock?: Clock | undefined;
  /** Called with warnings about the file. Default: stderr. */
  readonly onWarning?: WarnOfStore | undefined;
}

const timeOfDay: Clock = { now: () => Date.now(), after: systemClock.after };

/**
 * A store in a file, for the processes of one machine. Its folder must exist.
 *
 * Rejects with `unsupported` where Node has no SQLite, and with `invalid` when this cannot be the file of a store.
 */
export async function sqliteStore(path: string, options: SqliteStoreOptions = {}): Promise<Store> {
  const { clock = timeOfDay, onWarning = report } = options;
  const db = await openDatabase(resolve(path), clock, onWarning);
  const topics = sqliteTopics(db);
  const stopSweep = startSweep(db);

  const close = async (): Promise<void> => {
    stopSweep();
    topics.end();
    db.close();
  };

  return {
    values: sqliteValues(db),
    streams: sqliteStreams(db),
    topics,
    leases: sqliteLeases(db),
    durable: true,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function report({ message }: StoreWarning): void {
  console.error(`plugbay: ${message}`);
}

const SWEEP_MS = 10_000;
/** How long others may work when there is more to drop. */
const PAUSE_MS = 50;
/** How many rows of a kind are dropped at once. */
const BATCH = 1_000;
/** How long the last token of a name is known after its lease ended. */
const REMEMBER_MS = 86_400_000;
/** How long a message waits for processes that do not look. */
const MESSAGE_MS = 60_000;
/** How many messages wait for them. */
const MESSAGES_MAX = 100_000;

/** Drops what is due, now and again until the returned function is called. It keeps no process alive. */
function startSweep(db: SqliteDatabase): () => void {
  let stop = (): void => {};
  const sweepLater = (ms: number): void => {
    stop = db.clock.after(ms, () => sweepLater(sweep(db) ? PAUSE_MS : SWEEP_MS));
  };
  sweepLater(sweep(db) ? PAUSE_MS : SWEEP_MS);
  return () => stop();
}

/** True when there is more to drop. What cannot be dropped now is dropped the next time. */
function sweep(db: SqliteDatabase): boolean {
  const now = db.clock.now();
  try {
    if (!db.read(() => isAnyDue(db, now))) return false;
    return db.write(() => {
      const dropped = [dropValues(db, now), dropNumbers(db, now), dropStreams(db, now), dropLeases(db, now)];
      return Math.max(dropMessages(db, now), ...dropped) >= BATCH;
    });
  } catch {
    return false;
  }
}

function isAnyDue(db: SqliteDatabase, now: number): boolean {
  const sql = `SELECT
    EXISTS (SELECT 1 FROM value WHERE due <= ?1) OR EXISTS (SELECT 1 FROM number WHERE due <= ?1)
    OR EXISTS (SELECT 1 FROM stream WHERE due <= ?1) OR EXISTS (SELECT 1 FROM lease WHERE until <= ?2)
    OR EXISTS (SELECT 1 FROM message WHERE id = (SELECT min(id) FROM message) AND at <= ?3)
    OR ((SELECT max(id) FROM message) - (SELECT min(id) FROM message)) >= ${MESSAGES_MAX} AS due`;
  return db.get<{ due: number }>(sql, now, now - REMEMBER_MS, now - MESSAGE_MS)?.due === 1;
}

function dropValues(db: SqliteDatabase, now: number): number {
  return db.run(`DELETE FROM value WHERE rowid IN (SELECT rowid FROM value WHERE due <= ? LIMIT ${BATCH})`, now);
}

function dropNumbers(db: SqliteDatabase, now: number): number {
  return db.run(`DELETE FROM number WHERE name IN (SELECT name FROM number WHERE due <= ? LIMIT ${BATCH})`, now);
}

function dropStreams(db: SqliteDatabase, now: number): number {
  const due = db.all<{ id: number }>(`SELECT id FROM stream WHERE due <= ? LIMIT ${BATCH}`, now);
  for (const { id } of due) {
    db.run("DELETE FROM event WHERE stream = ?", id);
    db.run("DELETE FROM stream WHERE id = ?", id);
  }
  return due.length;
}

function dropLeases(db: SqliteDatabase, now: number): number {
  const sql = `DELETE FROM lease WHERE name IN (SELECT name FROM lease WHERE until <= ? LIMIT ${BATCH}) RETURNING token`;
  const dropped = db.all<{ token: number }>(sql, now - REMEMBER_MS);
  const token = Math.max(0, ...dropped.map((lease) => lease.token));
  db.run("UPDATE counter SET count = max(count, ?) WHERE name = 'forgotten'", token);
  return dropped.length;
}

function dropMessages(db: SqliteDatabase, now: number): number {
  const sql = `DELETE FROM message WHERE id IN (SELECT id FROM message ORDER BY id LIMIT ${BATCH})
    AND (at <= ? OR id <= (SELECT max(id) FROM message) - ${MESSAGES_MAX}) RETURNING id`;
  const dropped = db.all<{ id: number }>(sql, now - MESSAGE_MS);
  const id = Math.max(0, ...dropped.map((message) => message.id));
  db.run("UPDATE counter SET count = max(count, ?) WHERE name = 'trimmed'", id);
  return dropped.length;
}
