export type { NamedResult, SchemaNote, SkippedTool, ToolCall, Toolkit, ToolkitOptions } from "../bridge.ts";
export { type RunTool, runCalls, toResult } from "../run-calls.ts";
export { type Bridge, type Send, toModel } from "../to-model.ts";
export { openaiChat } from "./chat.ts";
export type * from "./chat-format.ts";
export { openaiResponses } from "./responses.ts";
export type * from "./responses-format.ts";
export type { OpenAiOptions } from "./schema.ts";
