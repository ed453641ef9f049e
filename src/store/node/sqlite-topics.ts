import { checkName } from "../check.ts";
import type { StoreTopics } from "../store.ts";
import { createSubscriptionQueue, type SubscriptionQueue } from "../subscription-queue.ts";
import { nameOf, type SqliteDatabase, type Stored, storedName, storedText, textOf } from "./sqlite-database.ts";

export interface SqliteTopics extends StoreTopics {
  /** Ends all subscriptions. */
  end(): void;
}

/** How often it is looked whether another process has published. */
const POLL_MS = 25;
/** How many messages are read before those are delivered. */
const BATCH = 1_000;

/**
 * Messages are rows, numbered in the order of their transactions. Each connection with subscribers remembers the last one it
 * has seen and looks for newer ones: at once after its own, else by a timer. As long as no other connection has written,
 * that look costs microseconds.
 */
export function sqliteTopics(db: SqliteDatabase): SqliteTopics {
  const topics = new Map<string, Set<SubscriptionQueue>>();
  const state: State = { seen: 0, fileVersion: undefined };
  let stopPolling: (() => void) | undefined;

  const pollLater = (): void => {
    stopPolling = db.clock.after(POLL_MS, () => {
      // What cannot be read now is read the next time.
      ignoring(() => deliverChanges(db, state, topics));
      pollLater();
    });
  };

  const join = (topic: string, queue: SubscriptionQueue): void => {
    const queues = topics.get(topic);
    if (queues === undefined) topics.set(topic, new Set([queue]));
    else queues.add(queue);
    if (stopPolling === undefined) pollLater();
  };

  const leave = (topic: string, queue: SubscriptionQueue): void => {
    const queues = topics.get(topic);
    if (queues?.delete(queue) && queues.size === 0) topics.delete(topic);
    if (topics.size > 0) return;
    stopPolling?.();
    stopPolling = undefined;
  };

  return {
    publish(topic, text) {
      db.ensureOpen();
      checkName(topic);
      const sql = "INSERT INTO message (at, topic, text) VALUES (?, ?, ?)";
      db.write(() => db.run(sql, db.clock.now(), storedName(topic), storedText(text)));
      if (topics.size > 0) ignoring(() => deliver(db, state, topics));
    },
    async subscribe(topic) {
      db.ensureOpen();
      checkName(topic);
      // Earlier messages are for earlier subscribers only.
      if (topics.size > 0) deliver(db, state, topics);
      else state.seen = db.read(() => newest(db));
      const queue = createSubscriptionQueue(() => leave(topic, queue));
      join(topic, queue);
      return queue.subscription;
    },
    end() {
      stopPolling?.();
      for (const queues of topics.values()) for (const queue of queues) queue.end();
      topics.clear();
    },
  };
}

interface State {
  /** The last message that was delivered, or had no subscriber here. */
  seen: number;
  /** What SQLite counts up when another connection has written. */
  fileVersion: number | undefined;
}

type Listeners = ReadonlyMap<string, ReadonlySet<SubscriptionQueue>>;

/** Delivers if another connection has written since this was last done. */
function deliverChanges(db: SqliteDatabase, state: State, listeners: Listeners): void {
  const version = db.get<{ data_version: number }>("PRAGMA data_version")?.data_version;
  if (version === state.fileVersion) return;
  deliver(db, state, listeners);
  state.fileVersion = version;
}

/** The number of the last message there ever was. */
function newest(db: SqliteDatabase): number {
  return db.get<{ seq: number }>("SELECT seq FROM sqlite_sequence WHERE name = 'message'")?.seq ?? 0;
}

function deliver(db: SqliteDatabase, state: State, listeners: Listeners): void {
  while (db.read(() => deliverBatch(db, state, listeners)) === BATCH);
}

/** Delivers new messages in order, and returns their number. */
function deliverBatch(db: SqliteDatabase, state: State, listeners: Listeners): number {
  const trimmed = db.get<{ count: number }>("SELECT count FROM counter WHERE name = 'trimmed'")?.count ?? 0;
  if (trimmed > state.seen) {
    state.seen = trimmed;
    for (const queues of listeners.values()) for (const queue of queues) queue.miss();
  }
  const sql = `SELECT id, topic FROM message WHERE id > ? ORDER BY id LIMIT ${BATCH}`;
  const rows = db.all<{ id: number; topic: Stored }>(sql, state.seen);
  for (const { id, topic } of rows) {
    const queues = listeners.get(nameOf(topic));
    if (queues !== undefined) deliverOne(db, id, queues);
    state.seen = id;
  }
  return rows.length;
}

/** Texts are read only for topics with subscribers. */
function deliverOne(db: SqliteDatabase, id: number, queues: ReadonlySet<SubscriptionQueue>): void {
  const row = db.get<{ text: Stored }>("SELECT text FROM message WHERE id = ?", id);
  if (row === undefined) return;
  const text = textOf(row.text);
  for (const queue of queues) queue.deliver(text);
}

function ignoring(work: () => unknown): void {
  try {
    work();
  } catch {}
}
