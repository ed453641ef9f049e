import { type FileHandle, open } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../../std/clock.ts";
import { StoreError } from "../store.ts";
import { findWriters, type StoreWarning } from "./sqlite-permissions.ts";

/** One connection to the file. Rows are trusted to be what the caller says: only this folder writes them. */
export interface SqliteDatabase {
  readonly clock: Clock;
  /** Throws when it was closed. */
  ensureOpen(): void;
  get<T>(sql: string, ...params: readonly SqliteParam[]): T | undefined;
  all<T>(sql: string, ...params: readonly SqliteParam[]): readonly T[];
  /** How many rows it changed. */
  run(sql: string, ...params: readonly SqliteParam[]): number;
  /** Runs `work` in an exclusive transaction. Throws only {@link StoreError}. */
  write<T>(work: () => T): T;
  /** `work` sees one state of the file. Throws only {@link StoreError}. */
  read<T>(work: () => T): T;
  /** Can be called twice. */
  close(): void;
}

/** Called with warnings before a file is used. */
export type WarnOfStore = (warning: StoreWarning) => void;

/** How long a writer waits for others. Their work takes microseconds, unless their machine is stuck. */
const BUSY_MS = 5_000;

/**
 * Opens a file, and makes it when there is none: only its owner may read it then.
 *
 * The log is written to the system with every change, so that what was acknowledged is there after any end of the
 * process. It reaches the disk some time later (`synchronous = NORMAL`): a power cut may take the last changes, but leaves
 * no half of one. Waiting for the disk would block the process for milliseconds on every write.
 */
export async function openDatabase(path: string, clock: Clock, warn: WarnOfStore): Promise<SqliteDatabase> {
  const { DatabaseSync } = await importSqlite();
  await makeFile(path);
  for (const warning of await findWriters(path)) warn(warning);
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

/** Marks the files that are ours. */
const APPLICATION = 0x706c6267;
const VERSION = 1;

/**
 * Times are those of the day, in milliseconds; `due` is null for what stays. `counter` has what only ever grows:
 * `version` and `token` the last ones given, `forgotten` the largest token that is not known any more, `trimmed` the last
 * message that was dropped.
 */
const schema = `
  CREATE TABLE value (name BLOB PRIMARY KEY NOT NULL, text BLOB NOT NULL, version INTEGER NOT NULL, due REAL, grp BLOB);
  CREATE INDEX value_group ON value (grp, name) WHERE grp IS NOT NULL;
  CREATE INDEX value_due ON value (due) WHERE due IS NOT NULL;

  CREATE TABLE number (name BLOB PRIMARY KEY NOT NULL, sum INTEGER NOT NULL, due REAL NOT NULL) WITHOUT ROWID;
  CREATE INDEX number_due ON number (due);

  CREATE TABLE stream (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name BLOB UNIQUE NOT NULL,
    dropped INTEGER NOT NULL, last INTEGER NOT NULL, due REAL
  );
  CREATE INDEX stream_due ON stream (due) WHERE due IS NOT NULL;
  CREATE TABLE event (
    stream INTEGER NOT NULL, position INTEGER NOT NULL, text BLOB NOT NULL, PRIMARY KEY (stream, position)
  ) WITHOUT ROWID;

  CREATE TABLE lease (name BLOB PRIMARY KEY NOT NULL, token INTEGER NOT NULL, until REAL NOT NULL) WITHOUT ROWID;
  CREATE INDEX lease_until ON lease (until);

  CREATE TABLE message (id INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, topic BLOB NOT NULL, text BLOB NOT NULL);

  CREATE TABLE counter (name TEXT PRIMARY KEY NOT NULL, count INTEGER NOT NULL) WITHOUT ROWID;
  INSERT INTO counter VALUES ('version', 0), ('token', 0), ('forgotten', 0), ('trimmed', 0);

  PRAGMA application_id = ${APPLICATION};
  PRAGMA user_version = ${VERSION};
`;

/**
 * Makes the tables in a new file. Throws `invalid` for a file of somebody else, or of a later version. Must be called in a
 * transaction, for other processes may open the same new file.
 */
function prepareSchema(connection: SqliteConnection, path: string): void {
  const read = (sql: string): number => Number(Object.values(connection.prepare(sql).get() as object)[0]);
  const [application, version] = [read("PRAGMA application_id"), read("PRAGMA user_version")];
  if (application === APPLICATION && version === VERSION) return;
  if (application === APPLICATION) {
    throw new StoreError("invalid", `sqlite: ${path} has version ${version} of the format, only ${VERSION} is known`);
  }
  if (application !== 0 || read("SELECT count(*) FROM sqlite_schema") > 0) {
    throw new StoreError("invalid", `sqlite: ${path} is not a store but another database`);
  }
  connection.exec(schema);
}

/** The part of `node:sqlite` that is used here. Older Nodes have neither the module nor its types. */
export interface SqliteModule {
  readonly DatabaseSync: new (path: string) => SqliteConnection;
}

export interface SqliteConnection {
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  close(): void;
}

interface SqliteStatement {
  get(...params: readonly SqliteParam[]): unknown;
  all(...params: readonly SqliteParam[]): unknown[];
  run(...params: readonly SqliteParam[]): { readonly changes: number | bigint };
}

type SqliteParam = string | number | null | Uint8Array;

/** A text as SQLite keeps it. */
export type Stored = string | Uint8Array;

/** Reading a text ends at its first NUL, so that one that has a NUL is kept as bytes. */
export function storedText(text: string): Stored {
  return text.includes("\0") ? Buffer.from(text) : text;
}

export function textOf(stored: Stored): string {
  return typeof stored === "string" ? stored : bufferOf(stored).toString();
}

/**
 * A name as bytes that sort like its UTF-16 units. The empty one is an empty text, which sorts before all bytes: empty bytes
 * might be taken for null.
 */
export function storedName(name: string): Stored {
  return name === "" ? "" : Buffer.from(name, "utf16le").swap16();
}

export function nameOf(stored: Stored): string {
  return typeof stored === "string" ? stored : Buffer.from(stored).swap16().toString("utf16le");
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
