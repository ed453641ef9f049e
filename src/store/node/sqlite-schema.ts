import { StoreError } from "../store.ts";
import type { SqliteConnection } from "./sqlite-types.ts";

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
export function prepareSchema(connection: SqliteConnection, path: string): void {
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
