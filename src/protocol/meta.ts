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

/** The key by which a caller names what it wants done once, however often it has to try. */
export const callKey = "plugbay/key";

/**
 * Keys of `_meta` for what stays in one process: where a change stands among all,
 * what is to be told first, that some are known no longer, and how far a task is.
 * Codecs drop them.
 */
export const changeKeys = {
  position: "plugbay/position",
  after: "plugbay/after",
  lost: "plugbay/lost",
  /** Of a message: the session that it is for. */
  session: "plugbay/session",
  /** Of a listener: that it wants to hear of progress. Of a task: its progress. */
  progress: "plugbay/progress",
} as const;

/** The `_meta` of params or a result; empty when there is none. */
export function metaOf(value: JsonObject): JsonObject {
  return isObject(value._meta) ? value._meta : noMeta;
}

const noMeta: JsonObject = {};

/** A copy of `value` whose `_meta` has one member more. */
export function withMeta(value: JsonObject, key: string, member: Json): JsonObject {
  return { ...value, _meta: { ...metaOf(value), [key]: member } };
}
