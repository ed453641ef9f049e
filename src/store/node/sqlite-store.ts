import { resolve } from "node:path";
import { type Clock, systemClock } from "../../std/clock.ts";
import type { Store } from "../store.ts";
import { openDatabase } from "./sqlite-database.ts";
import { sqliteLeases } from "./sqlite-leases.ts";
import { sqliteStreams } from "./sqlite-streams.ts";
import { startSweep } from "./sqlite-sweep.ts";
import { sqliteTopics } from "./sqlite-topics.ts";
import { sqliteValues } from "./sqlite-values.ts";

export interface SqliteStoreOptions {
  /** Shows the time of day: the one time that all processes on this machine share. */
  readonly clock?: Clock;
}

const timeOfDay: Clock = { now: () => Date.now(), after: systemClock.after };

/**
 * A store in a file, for the processes of one machine. Its folder must exist.
 *
 * Rejects with `unsupported` where Node has no SQLite, and with `invalid` when this cannot be the file of a store.
 */
export async function sqliteStore(path: string, { clock = timeOfDay }: SqliteStoreOptions = {}): Promise<Store> {
  const db = await openDatabase(resolve(path), clock);
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
