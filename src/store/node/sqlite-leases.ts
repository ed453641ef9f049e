import { checkName, checkTtl } from "../check.ts";
import type { Lease, StoreLeases } from "../store.ts";
import { type SqliteDatabase, storedName } from "./sqlite-database.ts";

interface Held {
  readonly token: number;
  readonly until: number;
}

export function sqliteLeases(db: SqliteDatabase): StoreLeases {
  const newest = (name: string): Held | undefined =>
    db.get("SELECT token, until FROM lease WHERE name = ?", storedName(name));

  const isHeld = (lease: Held | undefined): boolean => lease !== undefined && lease.until > db.clock.now();

  /** Ends a lease at another time, if it is the newest and has not run out. */
  const move = (name: string, token: number, until: number): boolean =>
    db.write(() => {
      const sql = "UPDATE lease SET until = ? WHERE name = ? AND token = ? AND until > ?";
      return db.run(sql, until, storedName(name), token, db.clock.now()) > 0;
    });

  const leaseOf = (name: string, token: number, ttlMs: number): Lease => ({
    name,
    token,
    renew() {
      db.ensureOpen();
      return move(name, token, db.clock.now() + ttlMs);
    },
    release() {
      db.ensureOpen();
      move(name, token, db.clock.now());
    },
  });

  return {
    acquire(name, ttlMs) {
      db.ensureOpen();
      checkName(name);
      checkTtl(ttlMs);
      const token = db.write(() => {
        if (isHeld(newest(name))) return undefined;
        const next = count(db, "token");
        db.run("INSERT OR REPLACE INTO lease VALUES (?, ?, ?)", storedName(name), next, db.clock.now() + ttlMs);
        return next;
      });
      return token === undefined ? undefined : leaseOf(name, token, ttlMs);
    },
    held(name) {
      db.ensureOpen();
      checkName(name);
      return db.read(() => isHeld(newest(name)));
    },
  };
}

/** The next of something that only ever grows. */
export function count(db: SqliteDatabase, name: "version" | "token"): number {
  const row = db.get<{ count: number }>("UPDATE counter SET count = count + 1 WHERE name = ? RETURNING count", name);
  return row?.count ?? 0;
}

/**
 * Whether a write with this fence may happen: always without one. Where the last token is forgotten, the fence must be at
 * least as new as all that were.
 */
export function allows(db: SqliteDatabase, name: string, fence: number | undefined): boolean {
  if (fence === undefined) return true;
  const sql = `SELECT coalesce((SELECT token FROM lease WHERE name = ?),
    (SELECT count FROM counter WHERE name = 'forgotten')) AS token`;
  const row = db.get<{ token: number }>(sql, storedName(name));
  return fence >= (row?.token ?? 0);
}
