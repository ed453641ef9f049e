import * as core from "@modelcontextprotocol/core";
import * as ext from "@modelcontextprotocol/ext-tasks/core/v2";
import * as sdk from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/json/json.ts";
import { isKnown } from "../../src/protocol/codec/params.ts";
import type { Question, QuestionMethod } from "../../src/protocol/input.ts";
import type { WireMethod } from "../../src/protocol/methods.ts";
import { type Revision, revisions } from "../../src/protocol/revision.ts";
import { type Codec, codecFor } from "../support/codecs.ts";
import { answers, plainQuestions, richQuestions } from "./example-questions.ts";
import { callOf, client, clientCapabilities, notifications, params, results, server, task, tasks } from "./examples.ts";

// The schemas of the official packages judge everything that our codecs say:
// those of version 1 where there are sessions, those of version 2 where not, and
// those of the extension for its tasks.

interface Schema {
  parse(value: unknown): unknown;
}

const methods = Object.keys(params) as WireMethod[];

type ModernMethod = Exclude<WireMethod, "tasks/list" | "tasks/result">;

const requestSchemas: { readonly [M in ModernMethod]: Schema } = {
  "server/discover": core.DiscoverRequestSchema,
  "tools/list": core.ListToolsRequestSchema,
  "tools/call": core.CallToolRequestSchema,
  "resources/list": core.ListResourcesRequestSchema,
  "resources/templates/list": core.ListResourceTemplatesRequestSchema,
  "resources/read": core.ReadResourceRequestSchema,
  "prompts/list": core.ListPromptsRequestSchema,
  "prompts/get": core.GetPromptRequestSchema,
  "completion/complete": core.CompleteRequestSchema,
  "subscriptions/listen": core.SubscriptionsListenRequestSchema,
  "tasks/get": ext.GetTaskRequestV2Schema,
  "tasks/update": ext.UpdateTaskRequestV2Schema,
  "tasks/cancel": ext.CancelTaskRequestV2Schema,
};

const resultSchemas: { readonly [M in ModernMethod]: Schema } = {
  "server/discover": core.DiscoverResultSchema,
  "tools/list": core.ListToolsResultSchema,
  "tools/call": core.CallToolResultSchema,
  "resources/list": core.ListResourcesResultSchema,
  "resources/templates/list": core.ListResourceTemplatesResultSchema,
  "resources/read": core.ReadResourceResultSchema,
  "prompts/list": core.ListPromptsResultSchema,
  "prompts/get": core.GetPromptResultSchema,
  "completion/complete": core.CompleteResultSchema,
  "subscriptions/listen": core.SubscriptionsListenResultSchema,
  "tasks/get": ext.GetTaskResultV2Schema,
  "tasks/update": ext.UpdateTaskResultV2Schema,
  "tasks/cancel": ext.CancelTaskResultV2Schema,
};

const legacySchemas: { readonly [M in WireMethod]?: readonly [request: Schema, result: Schema] } = {
  "tools/list": [sdk.ListToolsRequestSchema, sdk.ListToolsResultSchema],
  "tools/call": [sdk.CallToolRequestSchema, sdk.CallToolResultSchema],
  "resources/list": [sdk.ListResourcesRequestSchema, sdk.ListResourcesResultSchema],
  "resources/templates/list": [sdk.ListResourceTemplatesRequestSchema, sdk.ListResourceTemplatesResultSchema],
  "resources/read": [sdk.ReadResourceRequestSchema, sdk.ReadResourceResultSchema],
  "prompts/list": [sdk.ListPromptsRequestSchema, sdk.ListPromptsResultSchema],
  "prompts/get": [sdk.GetPromptRequestSchema, sdk.GetPromptResultSchema],
  "completion/complete": [sdk.CompleteRequestSchema, sdk.CompleteResultSchema],
  "tasks/get": [sdk.GetTaskRequestSchema, sdk.GetTaskResultSchema],
  "tasks/cancel": [sdk.CancelTaskRequestSchema, sdk.CancelTaskResultSchema],
  "tasks/list": [sdk.ListTasksRequestSchema, sdk.ListTasksResultSchema],
  "tasks/result": [sdk.GetTaskPayloadRequestSchema, sdk.CallToolResultSchema],
};

function schemasOf(revision: Revision, method: WireMethod): readonly [Schema, Schema] | undefined {
  if (!isKnown(method, revision)) return undefined;
  if (revision !== "2026-07-28") return legacySchemas[method];
  return [requestSchemas[method as ModernMethod], resultSchemas[method as ModernMethod]];
}

function accepts(schema: Schema, value: JsonObject): void {
  expect(() => schema.parse(JSON.parse(JSON.stringify(value)))).not.toThrow();
}

describe.each(revisions)("the official schemas accept what %s says", (revision) => {
  const codec = codecFor(revision);
  const known = methods.filter((method) => schemasOf(revision, method) !== undefined);

  it.each(known)("in a request for %s", (method) => {
    const [request] = schemasOf(revision, method) ?? [];
    const params = codec.encodeCall(callOf(method, revision), "token");
    if (request) accepts(request, { jsonrpc: "2.0", id: 1, method, params });
  });

  it.each(known)("in the result of %s", (method) => {
    const encoded = codec.encodeOutcome(method, { kind: "complete", result: results[method] }, server);
    const [, result] = schemasOf(revision, method) ?? [];
    if (result && encoded.ok) accepts(result, encoded.value);
    else expect.unreachable();
  });

  it.each(questionsOf(revision))("in a question, $method", (question) => {
    const encoded = codec.encodeQuestion(question);
    if (!encoded.ok) return expect.unreachable(encoded.failure.message);
    const [request] = questionSchemas(revision)[question.method];
    const { method } = question;
    return accepts(request, revision === "2026-07-28" ? encoded.value : { method, params: encoded.value });
  });

  it.each(Object.entries(answers))("in an answer, %s", (method, answer) => {
    const [, result] = questionSchemas(revision)[method as QuestionMethod];
    accepts(result, codec.encodeAnswer(method as QuestionMethod, answer));
  });

  it.each(notifications.map((row) => ({ row })))("in a notification, $row.0", ({ row: [method, given, scope] }) => {
    const said = codec.encodeNotification(method, given, scope);
    const name = codec.notificationName(method);
    if (said !== undefined) accepts(notificationSchema(revision), { jsonrpc: "2.0", method: name, params: said });
  });
});

describe("the official schemas accept of tasks", () => {
  const modern = codecFor("2026-07-28");
  const legacy = codecFor("2025-11-25");

  function encoded(outcome: ReturnType<Codec["encodeOutcome"]>): JsonObject {
    if (!outcome.ok) throw new Error(outcome.failure.message);
    return outcome.value;
  }

  it("that a call ends with one", () => {
    const outcome = { kind: "task", task } as const;
    accepts(ext.CreateTaskResultV2Schema, encoded(modern.encodeOutcome("tools/call", outcome, server)));
    accepts(sdk.CreateTaskResultSchema, encoded(legacy.encodeOutcome("tools/call", outcome, server)));
  });

  it("that a call wants one", () => {
    const params = legacy.encodeCall(callOf("tools/call", "2025-11-25", { tasks: { wanted: true, ttlMs: 1.5 } }));
    expect(params).toHaveProperty("task", { ttl: 1 });
    accepts(sdk.CallToolRequestSchema, { method: "tools/call", params });
  });

  it.each(tasks)("one that is $status", (result) => {
    accepts(
      ext.GetTaskResultV2Schema,
      encoded(modern.encodeOutcome("tasks/get", { kind: "complete", result }, server)),
    );
    accepts(sdk.GetTaskResultSchema, encoded(legacy.encodeOutcome("tasks/get", { kind: "complete", result }, server)));
  });

  it("what one came to, which their client reads like the result of any call", () => {
    for (const result of tasks.filter(({ status }) => status === "completed")) {
      const wire = encoded(modern.encodeOutcome("tasks/get", { kind: "complete", result }, server));
      accepts(ext.CallToolResultV2Schema, wire.result as JsonObject);
    }
  });

  it("that a server has them", () => {
    const welcome = legacy.encodeInitializeResult(results["server/discover"]);
    accepts(sdk.ServerTasksCapabilitySchema, (welcome.capabilities as JsonObject).tasks as JsonObject);
    const meta = modern.encodeCall(callOf("tools/call", "2026-07-28"));
    expect(ext.hasTaskClientCapabilityV2(meta)).toBe(true);
  });
});

describe.each(revisions.filter((revision) => revision !== "2026-07-28"))("the handshake of %s", (revision) => {
  const codec = codecFor(revision);

  it("is accepted from both sides", () => {
    const hello = codec.encodeInitializeRequest({ info: client, capabilities: clientCapabilities });
    accepts(sdk.InitializeRequestSchema, { method: "initialize", params: hello });
    accepts(sdk.InitializeResultSchema, codec.encodeInitializeResult(results["server/discover"]));
  });
});

/** The schemas of version 2 still want an id for a page; the client of version 2 does not, and judges that one. */
function questionsOf(revision: Revision): readonly Question[] {
  const [form, ...plain] = plainQuestions;
  if (form === undefined || revision < "2025-06-18") return plain;
  if (revision < "2025-11-25") return plainQuestions;
  const [page, ...rich] = richQuestions;
  return page === undefined || revision === "2026-07-28"
    ? [...plainQuestions, ...rich]
    : [...plainQuestions, page, ...rich];
}

function questionSchemas(revision: Revision): { readonly [Q in QuestionMethod]: readonly [Schema, Schema] } {
  const from = revision === "2026-07-28" ? core : sdk;
  return {
    "elicitation/create": [from.ElicitRequestSchema, from.ElicitResultSchema],
    "sampling/createMessage": [from.CreateMessageRequestSchema, from.CreateMessageResultSchema],
    "roots/list": [from.ListRootsRequestSchema, from.ListRootsResultSchema],
  };
}

function notificationSchema(revision: Revision): Schema {
  return revision === "2026-07-28"
    ? core.ServerNotificationSchema.or(core.SubscriptionsAcknowledgedNotificationSchema).or(
        ext.TaskStatusNotificationV2Schema,
      )
    : sdk.ServerNotificationSchema.or(sdk.ClientNotificationSchema);
}
