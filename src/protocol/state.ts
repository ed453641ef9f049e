import type { JsonObject } from "../json/json.ts";

/** A JSON object that outlives a call, kept in the store of the server: with a shared store, all processes see the same. */
export interface State<T> {
  /** Undefined while nothing is kept. */
  get(): Promise<T | undefined>;
  /** Replaces what is kept. */
  set(value: T): Promise<void>;
  /**
   * Changes what is kept and gives the new value; undefined deletes it. Nothing that others write meanwhile is lost:
   * `change` is called again with what they wrote.
   */
  update(change: (value: T | undefined) => T | undefined | Promise<T | undefined>): Promise<T | undefined>;
  delete(): Promise<void>;
}

/** The session of a client, as a server knows it. */
export interface KnownSession {
  readonly id: string;
  readonly state: State<JsonObject>;
}
