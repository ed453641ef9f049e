/// <reference path="../index.ts" preserve="true" />
export type { Channel } from "../jsonrpc/channel.ts";
export { fail, McpError } from "../model/errors.ts";
export type { NotificationParams } from "../model/notification.ts";
export type { Auth, AuthClaims } from "../model/peer.ts";
export {
  type Call,
  type CallOf,
  compose,
  type Middleware,
  type Outcome,
  type OutcomeOf,
  type Service,
  withCall,
} from "../model/service.ts";
export type { ToolTypes, Typed } from "../model/tool.ts";
export type { AnySchema as Schema, InferIn, InferOut, ObjectSchema } from "../schema/infer.ts";
export { serveChannel } from "../transport/serve.ts";
export type { ServeHandle, ServeOptions } from "../transport/serve-channel.ts";
export type { AskOptions, AskUrlOptions } from "./ask.ts";
export type { Completer, Completers, CompletionContext } from "./completion.ts";
export { audio, type Binary, embed, image, link, text } from "./content.ts";
export type { Context } from "./context.ts";
export { requireAuth } from "./context.ts";
export type { FaultHook, FaultPlace } from "./error-reporter.ts";
export type { CustomMethod, ServerOptions } from "./options.ts";
export { type PromptDefinition, type PromptOptions, type PromptReturn, type Prompts, prompt } from "./prompt.ts";
export { type ResourceDefinition, type ResourceOptions, type ResourceReturn, resource } from "./resource.ts";
export { type Announcements, type Collection, createServer, type Server } from "./server.ts";
export type { TaskLimits, TaskMode } from "./tasks/task-record.ts";
export {
  type ToolDefinition,
  type ToolOptions,
  type ToolResult,
  type ToolReturn,
  type Tools,
  tool,
} from "./tool.ts";
