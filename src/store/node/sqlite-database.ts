import { type FileHandle, open } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../../std/clock.ts";
import { StoreError } from "../store.ts";
import { prepareSchema } from "./sqlite-schema.ts";
import type { SqliteConnection, SqliteModule, SqliteParam, SqliteStatement } from "./sqlite-types.ts";

/** One connection to the file. Rows are trusted to be what the caller says: only this folder writes them. */
export interface SqliteDatabase {
  readonly clock: Clock;
  /** Throws when it was closed. */
  ensureOpen(): void;
  get<T>(sql: string, ...params: readonly SqliteParam[]): T | undefined;
  all<T>(sql: string, ...params: readonly SqliteParam[]): readonly T[];
  /** How many rows it changed. */
  run(sql: string, ...params: readonly SqliteParam[]): number;
  /** Does all of `work` or nothing. Nobody else writes meanwhile. Throws only {@link StoreError}. */
  write<T>(work: () => T): T;
  /** `work` sees one state of the file. Throws only {@link StoreError}. */
  read<T>(work: () => T): T;
  /** Can be called twice. */
  close(): void;
}

/** How long a writer waits for others. Their work takes microseconds, unless their machine is stuck. */
const BUSY_MS = 5_000;

/**
 * Opens a file, and makes it when there is none: only its owner may read it then.
 *
 * The log is written to the system with every change, so that what was acknowledged is there after any end of the
 * process. It reaches the disk some time later (`synchronous = NORMAL`): a power cut may take the last changes, but leaves
 * no half of one. Waiting for the disk would block the process for milliseconds on every write.
 */
export async function openDatabase(path: string, clock: Clock): Promise<SqliteDatabase> {
  const { DatabaseSync } = await importSqlite();
  await makeFile(path);
  for (const deadline = Date.now() + BUSY_MS; ; await sleep(10)) {
    const connection = failing(path, () => new DatabaseSync(path));
    try {
      failing(path, () => prepare(connection, path));
      return createDatabase(connection, clock);
    } catch (error) {
      connection.close();
      if (!isBusy(error) || Date.now() > deadline) throw error;
    }
  }
}

async function importSqlite(): Promise<SqliteModule> {
  // Not a literal: bundlers and type checkers of older versions do not know this module.
  const specifier: string = "node:sqlite";
  try {
    return await import(/* @vite-ignore */ specifier);
  } catch (error) {
    const message = `sqlite: needs Node 22.13 or newer; this is Node ${process.versions.node}; use redis: or memory:`;
    throw new StoreError("unsupported", message, error);
  }
}

async function makeFile(path: string): Promise<void> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, "a", 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") throw new StoreError("invalid", `sqlite: the folder of ${path} does not exist`, error);
    throw new StoreError("invalid", `sqlite: ${path} cannot be opened: ${code}`, error);
  } finally {
    await file?.close();
  }
}

function prepare(connection: SqliteConnection, path: string): void {
  connection.exec(`PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;`);
  connection.exec("BEGIN IMMEDIATE");
  prepareSchema(connection, path);
  connection.exec("COMMIT");
}

function createDatabase(connection: SqliteConnection, clock: Clock): SqliteDatabase {
  const statements = new Map<string, SqliteStatement>();
  let open = true;

  const statement = (sql: string): SqliteStatement => {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const prepared = connection.prepare(sql);
    statements.set(sql, prepared);
    return prepared;
  };

  const transaction = <T>(begin: string, work: () => T): T => {
    statement(begin).run();
    try {
      const result = work();
      statement("COMMIT").run();
      return result;
    } catch (error) {
      rollBack(connection);
      throw error;
    }
  };

  return {
    clock,
    ensureOpen() {
      if (!open) throw new StoreError("closed", "the store is closed");
    },
    get: <T>(sql: string, ...params: readonly SqliteParam[]) => statement(sql).get(...params) as T | undefined,
    all: <T>(sql: string, ...params: readonly SqliteParam[]) => statement(sql).all(...params) as T[],
    run: (sql, ...params) => Number(statement(sql).run(...params).changes),
    write: (work) => failing("", () => transaction("BEGIN IMMEDIATE", work)),
    read: (work) => failing("", () => transaction("BEGIN", work)),
    close() {
      if (!open) return;
      open = false;
      statements.clear();
      connection.close();
    },
  };
}

/** Some errors have ended the transaction already. */
function rollBack(connection: SqliteConnection): void {
  try {
    connection.exec("ROLLBACK");
  } catch {}
}

const [BUSY, NOT_A_DATABASE] = [5, 26];

/** Does it, and makes a {@link StoreError} of what it throws. */
function failing<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof StoreError) throw error;
    if (codeOf(error) === NOT_A_DATABASE) throw new StoreError("invalid", `sqlite: ${path} is not a database`, error);
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreError("unavailable", `sqlite: ${path === "" ? "" : `${path}: `}${reason}`, error);
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof StoreError && codeOf(error.cause) === BUSY;
}

/** The code of SQLite, without what it says in detail. */
function codeOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error)) return undefined;
  return Number(error.errcode) & 0xff;
}
