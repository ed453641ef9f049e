import type { JsonObject } from "../json/json.ts";
import { McpError } from "../protocol/errors.ts";
import { digestText } from "../std/digest.ts";
import type { StoredValue } from "../store/store.ts";
import type { Environment } from "./environment.ts";
import type { State } from "./state-types.ts";

/** Characters of one state, as JSON. */
const MAX_CHARS = 262_144;

export interface StateOptions {
  /** Whose it is, for the name in the store and for messages: `caller`, `session`. */
  readonly of: string;
  readonly id: string;
  /** Forgotten when it was not used for so long. */
  readonly ttlMs: number;
}

/** Saves one JSON object in the store of a server. Concurrent updates of several processes are not lost. */
export function createState(env: Pick<Environment, "store" | "audience">, options: StateOptions): State<JsonObject> {
  const { store, audience } = env;
  const { of, id, ttlMs } = options;
  // Principals of another server may have the same name.
  const name = digestText(JSON.stringify([audience, id])).then((digest) => `state:${of}:${digest}`);

  const toText = (value: JsonObject): string => {
    const text = JSON.stringify(value);
    if (typeof value !== "object" || value === null || text === undefined) {
      throw new McpError("invalid-params", `the state of a ${of} must be a JSON object`);
    }
    if (text.length <= MAX_CHARS) return text;
    const data = { reason: "limit-reached", limit: "maxStateChars", max: MAX_CHARS, scope: of };
    const message = `the state of this ${of} has ${text.length} characters as JSON, at most ${MAX_CHARS} are kept; keep large values elsewhere`;
    throw new McpError("limit-reached", message, { data });
  };

  /** Replaces the value that was read. False when another process has written meanwhile. */
  const replace = async (before: StoredValue | undefined, after: JsonObject | undefined): Promise<boolean> => {
    const { values } = await store.load();
    const version = before?.version ?? null;
    if (after !== undefined) return (await values.put(await name, toText(after), { version, ttlMs })) !== undefined;
    return before === undefined || (await values.delete(await name, { version }));
  };

  const update: State<JsonObject>["update"] = async (change) => {
    const { values } = await store.load();
    for (;;) {
      const before = await values.get(await name);
      const after = await change(before === undefined ? undefined : (JSON.parse(before.text) as JsonObject));
      if (await replace(before, after)) return after;
    }
  };

  return {
    async get() {
      const { values } = await store.load();
      const key = await name;
      const value = await values.get(key);
      if (value === undefined) return undefined;
      await values.touch(key, ttlMs);
      return JSON.parse(value.text) as JsonObject;
    },
    async set(value) {
      const { values } = await store.load();
      await values.put(await name, toText(value), { ttlMs });
    },
    update,
    async delete() {
      const { values } = await store.load();
      await values.delete(await name);
    },
  };
}
