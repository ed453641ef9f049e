import { isObject } from "../../json/json.ts";
import { rpcCodes } from "../../jsonrpc/message.ts";
import {
  always,
  asModeled,
  type Change,
  type Dialect,
  derive,
  inOrder,
  without,
  withoutMeta,
} from "../../protocol/codec/dialect.ts";
import { internalKeys } from "../../protocol/codec/envelope.ts";
import { plainTask } from "../../protocol/codec/outcomes.ts";
import { metaKeys } from "../../protocol/meta.ts";
import { dropTasksExtension, readTasksCapability, structuredAsText, writeTasksCapability } from "./older-shapes.ts";

/** The keys of `_meta` that came with 2026-07-28. */
const modernKeys: readonly string[] = [
  metaKeys.protocolVersion,
  metaKeys.clientCapabilities,
  metaKeys.clientInfo,
  metaKeys.serverInfo,
  metaKeys.logLevel,
  metaKeys.subscriptionId,
];

/** A task in the words of 2025-11-25, where a tool that failed is a task that did. */
const legacyTask: Change = (task) => {
  const { ttlMs: ttl, pollIntervalMs: pollInterval, ...plain } = plainTask(task);
  const failed = plain.status === "completed" && isObject(task.result) && task.result.isError === true;
  return {
    ...plain,
    ...(failed && { status: "failed" }),
    ttl,
    ...(pollInterval !== undefined && { pollInterval }),
  };
};

/** Since 2026-07-28 the output of a tool may be any JSON. Before, it was an object. */
const objectOutput: Change = (tool) =>
  isObject(tool.outputSchema) && tool.outputSchema.type === "object" ? tool : withoutOutput(tool);
const withoutOutput = without("outputSchema");

const objectResult: Change = (result) =>
  result.structuredContent === undefined || isObject(result.structuredContent) ? result : structuredAsText(result);

/** A page to open has an id, so that the server can tell when the user is done with it. */
const withElicitationId: Change = (params) =>
  params.mode === "url" && params.elicitationId === undefined
    ? { ...params, elicitationId: crypto.randomUUID() }
    : params;

/**
 * 2025-11-25, the last revision with sessions.
 *
 * Its results do not say how a call ended nor how long they may be kept, and
 * its `_meta` does not say who speaks: the handshake did. Tasks were a part of
 * the core, with a capability of their own and other words.
 */
export const r2025_11_25: Dialect = derive("2025-11-25", asModeled, {
  result: inOrder(without("resultType", "ttlMs", "cacheScope"), withoutMeta(...modernKeys)),
  notification: withoutMeta(...modernKeys, ...internalKeys),
  clientCapabilities: dropTasksExtension,
  serverCapabilities: writeTasksCapability,
  impliedCapabilities: readTasksCapability,
  task: legacyTask,
  cancelled: legacyTask,
  tool: objectOutput,
  toolResult: objectResult,
  elicitation: always(withElicitationId),
  notifications: {
    "notifications/subscriptions/acknowledged": false,
    "notifications/tasks": "notifications/tasks/status",
  },
  errors: {
    "resource-not-found": -32002,
    "url-elicitation-required": -32042,
    "header-mismatch": rpcCodes.invalidRequest,
    "missing-capability": rpcCodes.invalidParams,
    "unsupported-revision": rpcCodes.invalidParams,
  },
});
