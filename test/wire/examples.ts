import type { NotificationScope } from "../../src/codec/codec.ts";
import type { JsonObject } from "../../src/json/json.ts";
import type { Content, Icon } from "../../src/model/content.ts";
import type { Answer, Question, QuestionMethod } from "../../src/model/input.ts";
import type { Method, Params, Result } from "../../src/model/methods.ts";
import type { ClientCapabilities, Implementation, Peer, ServerCapabilities } from "../../src/model/peer.ts";
import type { Revision } from "../../src/model/revision.ts";
import { type Call, type CallSource, createCall } from "../../src/model/service.ts";
import { LazyAbort } from "../../src/std/lazy-abort.ts";

// One rich example of everything that can be said: every optional member is
// there, so that whatever a revision lacks has to be left out.

const icons: readonly Icon[] = [
  { src: "https://example.com/i.png", mimeType: "image/png", sizes: ["48x48"], theme: "dark" },
];
const annotations = { audience: ["user", "assistant"], priority: 0.5, lastModified: "2026-01-01T00:00:00Z" } as const;
const _meta: JsonObject = { "com.example/tag": "t" };

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
  extensions: { "com.example/ext": { level: 1 } },
};

export const serverCapabilities: ServerCapabilities = {
  experimental: { "com.example/x": {} },
  logging: {},
  completions: {},
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  tools: { listChanged: true },
  extensions: { "com.example/ext": { level: 1 } },
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

export const params: { readonly [M in Method]: Params<M> } = {
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
    },
  },
};

const page = { nextCursor: "", ttlMs: 1000, cacheScope: "public", _meta } as const;
const described = { title: "A", description: "The A", mimeType: "text/plain", icons, annotations, _meta };

export const results: { readonly [M in Method]: Result<M> } = {
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
        _meta,
      },
      { name: "count", inputSchema: { type: "object" }, outputSchema: { type: "integer" } },
    ],
  },
  "tools/call": { content: blocks, structuredContent: { total: 1 }, isError: false, _meta },
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
};

/** Questions that every revision with their method can ask. */
export const plainQuestions: readonly Question[] = [
  {
    method: "elicitation/create",
    params: {
      mode: "form",
      message: "Which?",
      requestedSchema: {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        properties: {
          name: { type: "string", title: "Name", minLength: 1, maxLength: 9, format: "email", default: "a@b.c" },
          count: { type: "integer", minimum: 0, maximum: 9, default: 3 },
          sure: { type: "boolean", default: true },
          size: { type: "string", enum: ["s", "m"], default: "s" },
          color: {
            type: "string",
            title: "Color",
            oneOf: [
              { const: "r", title: "Red" },
              { const: "g", title: "Green" },
            ],
            default: "r",
          },
          old: { type: "string", enum: ["a"], enumNames: ["A"] },
        },
        required: ["name"],
      },
    },
  },
  {
    method: "sampling/createMessage",
    params: {
      messages: [
        { role: "user", content: { type: "text", text: "hi", annotations, _meta }, _meta },
        { role: "assistant", content: [{ type: "image", data: "aGk=", mimeType: "image/png" }] },
      ],
      maxTokens: 10,
      modelPreferences: { hints: [{ name: "m" }], costPriority: 0.1, speedPriority: 0.2, intelligencePriority: 0.3 },
      systemPrompt: "s",
      includeContext: "none",
      temperature: 0.5,
      stopSequences: ["."],
      metadata: { a: 1 },
    },
  },
  { method: "roots/list", params: {} },
];

/** Questions that came with 2025-11-25. */
export const richQuestions: readonly Question[] = [
  { method: "elicitation/create", params: { mode: "url", message: "Sign", url: "https://example.com/sign" } },
  {
    method: "elicitation/create",
    params: {
      message: "Which ones?",
      requestedSchema: {
        type: "object",
        properties: {
          plain: { type: "array", items: { type: "string", enum: ["a", "b"] }, minItems: 1, default: ["a"] },
          titled: { type: "array", items: { anyOf: [{ const: "a", title: "A" }] }, maxItems: 2 },
        },
      },
    },
  },
  {
    method: "sampling/createMessage",
    params: {
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "weather?" },
            { type: "text", text: "please" },
          ],
        },
        { role: "assistant", content: { type: "tool_use", id: "1", name: "weather", input: { city: "X" }, _meta } },
        {
          role: "user",
          content: [
            { type: "tool_result", toolUseId: "1", content: [...blocks], structuredContent: 20, isError: false },
          ],
        },
      ],
      maxTokens: 10,
      tools: results["tools/list"].tools,
      toolChoice: { mode: "auto" },
    },
  },
];

export const answers: { readonly [Q in QuestionMethod]: Answer } = {
  "elicitation/create": { action: "accept", content: { name: "a", count: 3, sure: true } },
  "sampling/createMessage": {
    role: "assistant",
    content: { type: "text", text: "hi", annotations, _meta },
    model: "m",
    stopReason: "endTurn",
  },
  "roots/list": { roots: [{ uri: "file:///a", name: "a", _meta }] },
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
  ["notifications/initialized", {}],
  ["notifications/roots/list_changed", {}],
  ["notifications/elicitation/complete", { elicitationId: "e" }],
];

export function peerOf(revision: Revision): Peer {
  return { revision, info: client, capabilities: clientCapabilities };
}

/** A call as a client makes it. */
export function callOf<M extends Method>(
  method: M,
  revision: Revision,
  more: Partial<Omit<CallSource<M>, "method">> = {},
): Call<M> {
  const base = { method, params: params[method], peer: peerOf(revision), meta: { traceparent: "00-a-b-01", ..._meta } };
  return createCall<M>({ ...base, abort: new LazyAbort(), notify: () => undefined, ...more });
}
