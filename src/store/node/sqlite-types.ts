/** The part of `node:sqlite` that is used here. Older Nodes have neither the module nor its types. */
export interface SqliteModule {
  readonly DatabaseSync: new (path: string) => SqliteConnection;
}

export interface SqliteConnection {
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  close(): void;
}

export interface SqliteStatement {
  get(...params: readonly SqliteParam[]): unknown;
  all(...params: readonly SqliteParam[]): unknown[];
  run(...params: readonly SqliteParam[]): { readonly changes: number | bigint };
}

export type SqliteParam = string | number | null | Uint8Array;
