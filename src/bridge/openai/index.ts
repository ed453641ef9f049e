/// <reference path="../../index.ts" preserve="true" />
export type {
  FaultyCall,
  NamedResult,
  ReadyCall,
  SchemaNote,
  SkippedTool,
  ToolCall,
  Toolkit,
  ToolkitOptions,
} from "../bridge.ts";
export { openaiChat } from "./chat.ts";
export type * from "./chat-format.ts";
export type { OpenAiOptions } from "./media.ts";
export { openaiResponses } from "./responses.ts";
export type * from "./responses-format.ts";
