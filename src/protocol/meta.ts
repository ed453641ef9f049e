import { isObject, type Json, type JsonObject } from "../json/json.ts";

/** The reserved keys of `_meta`. Only codecs and transports read or write them. */
export const metaKeys = {
  protocolVersion: "io.modelcontextprotocol/protocolVersion",
  clientCapabilities: "io.modelcontextprotocol/clientCapabilities",
  clientInfo: "io.modelcontextprotocol/clientInfo",
  serverInfo: "io.modelcontextprotocol/serverInfo",
  logLevel: "io.modelcontextprotocol/logLevel",
  subscriptionId: "io.modelcontextprotocol/subscriptionId",
  relatedTask: "io.modelcontextprotocol/related-task",
  progressToken: "progressToken",
} as const;

/** The `_meta` key of the idempotency key: calls with the same value run once. */
export const callKey = "plugbay/key";

/** In the answer to `server/discover` and `initialize`: the servers of a host that are away. */
export const degradedKey = "plugbay/degraded";

/**
 * Keys of `_meta` for use within one process: the position of a change, the position to continue after, dropped tasks,
 * and the progress of a task. Codecs remove them.
 */
export const changeKeys = {
  position: "plugbay/position",
  after: "plugbay/after",
  lost: "plugbay/lost",
  /** Of a message: the session that it is for. */
  session: "plugbay/session",
  /** For a listener: it wants progress. For a task: its progress. */
  progress: "plugbay/progress",
} as const;

/** The `_meta` of params or a result; empty when it is absent. */
export function metaOf(value: JsonObject): JsonObject {
  return isObject(value._meta) ? value._meta : noMeta;
}

const noMeta: JsonObject = {};

/** A copy of `value` whose `_meta` has one member more. */
export function withMeta(value: JsonObject, key: string, member: Json): JsonObject {
  return { ...value, _meta: { ...metaOf(value), [key]: member } };
}
