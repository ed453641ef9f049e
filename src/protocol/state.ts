import type { JsonObject } from "../json/json.ts";

/**
 * A JSON object that outlives a call, saved in the store of the server: with a shared store, all processes see the
 * same.
 */
export interface State<T> {
  /** Undefined when nothing is saved. */
  get(): Promise<T | undefined>;
  /** Replaces the saved value. */
  set(value: T): Promise<void>;
  /**
   * Changes the saved value and resolves with the new one; undefined deletes it. Concurrent updates are not lost:
   * `change` is called again with the newer value.
   */
  update(change: (value: T | undefined) => T | undefined | Promise<T | undefined>): Promise<T | undefined>;
  delete(): Promise<void>;
}

/** The session of a client, as a server knows it. */
export interface KnownSession {
  readonly id: string;
  readonly state: State<JsonObject>;
}
