import { asJson, type JsonObject } from "../../src/json/json.ts";
import type { NotificationScope } from "../../src/protocol/codec/codec.ts";
import type { Content, Icon } from "../../src/protocol/content.ts";
import type { Params, Result, WireMethod } from "../../src/protocol/methods.ts";
import type { ClientCapabilities, ClientInfo, Implementation, ServerCapabilities } from "../../src/protocol/peer.ts";
import type { Revision } from "../../src/protocol/revision.ts";
import { type CallOf, type CallSource, createCall } from "../../src/protocol/service.ts";
import { type DetailedTask, type Task, tasksExtension } from "../../src/protocol/task.ts";
import type { CallToolResult } from "../../src/protocol/tool.ts";
import { LazyAbort } from "../../src/std/lazy-abort.ts";

// One rich example of everything that can be said: every optional member is
// there, so that whatever a revision lacks has to be left out.

const icons: readonly Icon[] = [
  { src: "https://example.com/i.png", mimeType: "image/png", sizes: ["48x48"], theme: "dark" },
];
export const annotations = {
  audience: ["user", "assistant"],
  priority: 0.5,
  lastModified: "2026-01-01T00:00:00Z",
} as const;
export const _meta: JsonObject = { "com.example/tag": "t" };

export const server: Implementation = {
  name: "shop",
  version: "1.0.0",
  title: "Shop",
  description: "Sells",
  websiteUrl: "https://example.com",
  icons,
};
export const client: Implementation = { ...server, name: "host" };

export const clientCapabilities: ClientCapabilities = {
  experimental: { "com.example/x": {} },
  roots: { listChanged: true },
  sampling: { tools: {}, context: {} },
  elicitation: { form: {}, url: {} },
  extensions: { "com.example/ext": { level: 1 }, [tasksExtension]: {} },
};

export const serverCapabilities: ServerCapabilities = {
  experimental: { "com.example/x": {} },
  logging: {},
  completions: {},
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  tools: { listChanged: true },
  extensions: { "com.example/ext": { level: 1 }, [tasksExtension]: {} },
};

export const blocks: readonly Content[] = [
  { type: "text", text: "hello", annotations, _meta },
  { type: "image", data: "aGk=", mimeType: "image/png", annotations, _meta },
  { type: "audio", data: "aGk=", mimeType: "audio/wav", annotations, _meta },
  {
    type: "resource_link",
    uri: "stock://a",
    name: "a",
    title: "A",
    description: "The A",
    mimeType: "text/plain",
    size: 2,
    icons,
    annotations,
    _meta,
  },
  {
    type: "resource",
    resource: { uri: "stock://a", mimeType: "text/plain", text: "hi", _meta },
    annotations,
    _meta,
  },
  { type: "resource", resource: { uri: "stock://b", mimeType: "image/png", blob: "aGk=", _meta } },
];

const objectSchema: JsonObject = { type: "object", properties: { sku: { type: "string" } }, required: ["sku"] };

export const params: { readonly [M in WireMethod]: Params<M> } = {
  "server/discover": {},
  "tools/list": { cursor: "" },
  "tools/call": { name: "buy", arguments: { sku: "a", qty: 1, nested: { deep: [null, 1.5] } } },
  "resources/list": { cursor: "2" },
  "resources/templates/list": {},
  "resources/read": { uri: "stock://a" },
  "prompts/list": {},
  "prompts/get": { name: "upsell", arguments: { sku: "a" } },
  "completion/complete": {
    ref: { type: "ref/prompt", name: "upsell", title: "Upsell" },
    argument: { name: "sku", value: "a" },
    context: { arguments: { shop: "b" } },
  },
  "subscriptions/listen": {
    notifications: {
      toolsListChanged: true,
      promptsListChanged: false,
      resourcesListChanged: true,
      resourceSubscriptions: ["stock://a"],
      taskIds: ["t"],
    },
  },
  "tasks/get": { taskId: "t" },
  "tasks/update": {
    taskId: "t",
    inputResponses: { a: { action: "accept", content: { name: "a" } }, b: { roots: [{ uri: "file:///a" }] } },
  },
  "tasks/cancel": { taskId: "t" },
  "tasks/list": { cursor: "2" },
  "tasks/result": { taskId: "t" },
};

const page = { nextCursor: "", ttlMs: 1000, cacheScope: "public", _meta } as const;
const described = { title: "A", description: "The A", mimeType: "text/plain", icons, annotations, _meta };

export const task = {
  taskId: "t",
  status: "working",
  statusMessage: "packing",
  createdAt: "2026-01-01T00:00:00Z",
  lastUpdatedAt: "2026-01-01T00:00:01Z",
  ttlMs: 60_000,
  pollIntervalMs: 500,
  _meta,
} as const satisfies Task;

const toolResult: CallToolResult = { content: blocks, structuredContent: { total: 1 }, isError: false, _meta };

/** A task in every state. */
export const tasks: readonly DetailedTask[] = [
  task,
  {
    ...task,
    status: "input_required",
    questions: {
      a: {
        method: "elicitation/create",
        params: { message: "Who?", requestedSchema: { type: "object", properties: { name: { type: "string" } } } },
      },
      b: { method: "roots/list", params: {} },
    },
  },
  { ...task, status: "completed", result: toolResult },
  { ...task, status: "completed", result: { content: [], isError: true } },
  { ...task, status: "failed", failure: { code: "invalid-params", message: "no", data: { a: 1 } } },
  { ...task, status: "cancelled", ttlMs: null },
];

export const results: { readonly [M in WireMethod]: Result<M> } = {
  "server/discover": {
    supportedVersions: ["2026-07-28", "2025-11-25"],
    capabilities: serverCapabilities,
    instructions: "Be nice",
    serverInfo: server,
    ttlMs: 10,
    cacheScope: "private",
  },
  "tools/list": {
    ...page,
    tools: [
      {
        name: "buy",
        title: "Buy",
        description: "Buys",
        icons,
        inputSchema: objectSchema,
        outputSchema: objectSchema,
        annotations: {
          title: "Buy!",
          readOnlyHint: false,
          destructiveHint: true,
          idempotentHint: false,
          openWorldHint: true,
        },
        execution: { taskSupport: "optional" },
        _meta,
      },
      { name: "count", inputSchema: { type: "object" }, outputSchema: { type: "integer" } },
    ],
  },
  "tools/call": toolResult,
  "resources/list": { ...page, resources: [{ uri: "stock://a", name: "a", size: 2, ...described }] },
  "resources/templates/list": {
    ...page,
    resourceTemplates: [{ uriTemplate: "stock://{sku}", name: "stock", ...described }],
  },
  "resources/read": {
    contents: [
      { uri: "stock://a", mimeType: "text/plain", text: "hi", _meta },
      { uri: "stock://b", mimeType: "image/png", blob: "aGk=", _meta },
    ],
    ttlMs: 5,
    cacheScope: "private",
    _meta,
  },
  "prompts/list": {
    ...page,
    prompts: [
      {
        name: "upsell",
        title: "Upsell",
        description: "Suggests",
        icons,
        arguments: [{ name: "sku", title: "SKU", description: "Which", required: true }],
        _meta,
      },
    ],
  },
  "prompts/get": { description: "d", messages: blocks.map((content) => ({ role: "user", content })), _meta },
  "completion/complete": { completion: { values: ["a", "b"], total: 2, hasMore: false }, _meta },
  "subscriptions/listen": { _meta: { "io.modelcontextprotocol/subscriptionId": 7 } },
  "tasks/get": task,
  "tasks/update": { _meta },
  "tasks/cancel": { ...task, status: "cancelled" },
  "tasks/list": { nextCursor: "", tasks: [task], _meta },
  "tasks/result": toolResult,
};

export const notifications: readonly (readonly [string, JsonObject, NotificationScope?])[] = [
  ["notifications/progress", { progress: 1, total: 2, message: "half" }, { progressToken: "p" }],
  ["notifications/progress", { progress: 0.5 }, { progressToken: 5 }],
  ["notifications/message", { level: "info", logger: "l", data: { a: 1 } }],
  ["notifications/cancelled", { requestId: 1, reason: "r" }],
  ["notifications/tools/list_changed", {}, { subscriptionId: 7 }],
  ["notifications/prompts/list_changed", {}, { subscriptionId: "7" }],
  ["notifications/resources/list_changed", {}],
  ["notifications/resources/updated", { uri: "stock://a" }, { subscriptionId: 7 }],
  ["notifications/subscriptions/acknowledged", { notifications: { toolsListChanged: true } }, { subscriptionId: 7 }],
  ...tasks.map((one) => ["notifications/tasks", asJson(one), { subscriptionId: 7 }] as const),
  ["notifications/initialized", {}],
  ["notifications/roots/list_changed", {}],
  ["notifications/elicitation/complete", { elicitationId: "e" }],
];

export function peerOf(revision: Revision): ClientInfo {
  return { revision, info: client, capabilities: clientCapabilities };
}

/** A call as a client makes it. */
export function callOf<M extends WireMethod>(
  method: M,
  revision: Revision,
  more: Partial<Omit<CallSource<M>, "method">> = {},
): CallOf<M> {
  const base = { method, params: params[method], peer: peerOf(revision), meta: { traceparent: "00-a-b-01", ..._meta } };
  return createCall<M>({ ...base, abort: new LazyAbort(), notify: () => undefined, ...more });
}
