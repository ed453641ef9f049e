import type * as official from "@modelcontextprotocol/server";
import { expectTypeOf, test } from "vitest";
import type { Json } from "../../src/json/json.ts";
import type * as content from "../../src/protocol/content.ts";
import type * as resource from "../../src/protocol/content.ts";
import type * as input from "../../src/protocol/input.ts";
import type { LogLevel } from "../../src/protocol/logging.ts";
import type { Params, Result } from "../../src/protocol/methods.ts";
import type * as peer from "../../src/protocol/peer.ts";
import type * as prompt from "../../src/protocol/prompt.ts";
import type { ListenFilter } from "../../src/protocol/subscription.ts";
import type * as tool from "../../src/protocol/tool.ts";

// Our types and the official ones describe the same things. Ours are read-only
// and know that everything is JSON, so the official ones are seen that way.

/** An official type, read-only, with JSON where it says nothing, and without members of any name. */
type Seen<T> = unknown extends T
  ? Json
  : T extends readonly (infer Item)[]
    ? readonly Seen<Item>[]
    : T extends object
      ? { readonly [K in keyof T as string extends K ? never : K]: Seen<Exclude<T[K], undefined>> }
      : T;

/** True when each can stand for the other; otherwise what cannot. */
type Match<Ours, Official> = Mutual<Ours, Seen<Official>>;

/** The same, but for members that ours leaves more open: any official value still fits. */
type MatchBut<Open extends string, Ours, Official> = [Seen<Official>] extends [Ours]
  ? Mutual<Omit<Ours, Open>, Omit<Seen<Official>, Open>>
  : "the official type does not fit ours";

type Mutual<Ours, Official> = [Ours] extends [Official]
  ? [Official] extends [Ours]
    ? true
    : "the official type does not fit ours"
  : "our type does not fit the official one";

test("content is the same", () => {
  expectTypeOf<Match<content.TextContent, official.TextContent>>().toEqualTypeOf<true>();
  expectTypeOf<Match<content.ImageContent, official.ImageContent>>().toEqualTypeOf<true>();
  expectTypeOf<Match<content.AudioContent, official.AudioContent>>().toEqualTypeOf<true>();
  expectTypeOf<Match<content.EmbeddedResource, official.EmbeddedResource>>().toEqualTypeOf<true>();
  expectTypeOf<Match<content.ResourceLink, official.ResourceLink>>().toEqualTypeOf<true>();
  expectTypeOf<Match<content.Content, official.ContentBlock>>().toEqualTypeOf<true>();
  expectTypeOf<Match<content.Annotations, official.Annotations>>().toEqualTypeOf<true>();
  expectTypeOf<Match<content.Icon, official.Icon>>().toEqualTypeOf<true>();
  expectTypeOf<Match<content.Role, official.Role>>().toEqualTypeOf<true>();
});

test("what servers offer is the same", () => {
  expectTypeOf<MatchBut<"inputSchema" | "outputSchema", tool.Tool, official.Tool>>().toEqualTypeOf<true>();
  expectTypeOf<Match<tool.ToolAnnotations, official.ToolAnnotations>>().toEqualTypeOf<true>();
  expectTypeOf<Match<resource.Resource, official.Resource>>().toEqualTypeOf<true>();
  expectTypeOf<Match<resource.ResourceTemplate, official.ResourceTemplateType>>().toEqualTypeOf<true>();
  expectTypeOf<Match<resource.TextResourceContents, official.TextResourceContents>>().toEqualTypeOf<true>();
  expectTypeOf<Match<resource.BlobResourceContents, official.BlobResourceContents>>().toEqualTypeOf<true>();
  expectTypeOf<Match<prompt.Prompt, official.Prompt>>().toEqualTypeOf<true>();
  expectTypeOf<Match<prompt.PromptArgument, official.PromptArgument>>().toEqualTypeOf<true>();
  expectTypeOf<Match<prompt.PromptMessage, official.PromptMessage>>().toEqualTypeOf<true>();
});

test("peers are the same", () => {
  expectTypeOf<Match<peer.Implementation, official.Implementation>>().toEqualTypeOf<true>();
  expectTypeOf<Match<peer.ClientCapabilities, official.ClientCapabilities>>().toEqualTypeOf<true>();
  expectTypeOf<Match<peer.ServerCapabilities, official.ServerCapabilities>>().toEqualTypeOf<true>();
  expectTypeOf<Match<LogLevel, official.LoggingLevel>>().toEqualTypeOf<true>();
});

test("results are the same", () => {
  expectTypeOf<MatchBut<"tools", Result<"tools/list">, official.ListToolsResult>>().toEqualTypeOf<true>();
  expectTypeOf<Match<Result<"tools/call">, official.CallToolResult>>().toEqualTypeOf<true>();
  expectTypeOf<Match<Result<"resources/list">, official.ListResourcesResult>>().toEqualTypeOf<true>();
  expectTypeOf<Match<Result<"resources/templates/list">, official.ListResourceTemplatesResult>>().toEqualTypeOf<true>();
  expectTypeOf<Match<Result<"resources/read">, official.ReadResourceResult>>().toEqualTypeOf<true>();
  expectTypeOf<Match<Result<"prompts/list">, official.ListPromptsResult>>().toEqualTypeOf<true>();
  expectTypeOf<Match<Result<"prompts/get">, official.GetPromptResult>>().toEqualTypeOf<true>();
  expectTypeOf<Match<Result<"completion/complete">, official.CompleteResult>>().toEqualTypeOf<true>();
});

test("params are the same", () => {
  expectTypeOf<Match<Params<"tools/call">, official.CallToolRequestParams>>().toEqualTypeOf<true>();
  expectTypeOf<Match<Params<"resources/read">, official.ReadResourceRequestParams>>().toEqualTypeOf<true>();
  expectTypeOf<Match<Params<"prompts/get">, official.GetPromptRequestParams>>().toEqualTypeOf<true>();
  expectTypeOf<Match<Params<"completion/complete">, official.CompleteRequestParams>>().toEqualTypeOf<true>();
  expectTypeOf<Match<Omit<ListenFilter, "taskIds">, official.SubscriptionFilter>>().toEqualTypeOf<true>();
});

test("questions and answers are the same", () => {
  expectTypeOf<
    MatchBut<"requestedSchema", input.ElicitFormParams, official.ElicitRequestFormParams>
  >().toEqualTypeOf<true>();
  expectTypeOf<
    MatchBut<"elicitationId", input.ElicitUrlParams, official.ElicitRequestURLParams>
  >().toEqualTypeOf<true>();
  expectTypeOf<Match<input.ElicitResult, official.ElicitResult>>().toEqualTypeOf<true>();
  expectTypeOf<
    MatchBut<"tools", input.CreateMessageParams, official.CreateMessageRequestParams>
  >().toEqualTypeOf<true>();
  expectTypeOf<Match<input.CreateMessageResult, official.CreateMessageResultWithTools>>().toEqualTypeOf<true>();
  expectTypeOf<Match<input.SamplingMessage, official.SamplingMessage>>().toEqualTypeOf<true>();
  expectTypeOf<Match<input.ToolUseContent, official.ToolUseContent>>().toEqualTypeOf<true>();
  expectTypeOf<Match<input.ToolResultContent, official.ToolResultContent>>().toEqualTypeOf<true>();
  expectTypeOf<Match<input.ModelPreferences, official.ModelPreferences>>().toEqualTypeOf<true>();
  expectTypeOf<Match<input.ToolChoice, official.ToolChoice>>().toEqualTypeOf<true>();
  expectTypeOf<Match<input.ListRootsResult, official.ListRootsResult>>().toEqualTypeOf<true>();
  expectTypeOf<Match<input.Root, official.Root>>().toEqualTypeOf<true>();
});
