/// <reference path="../index.ts" preserve="true" />
export type { Channel } from "../jsonrpc/channel.ts";
export type { ChannelBudgets, ConnectionBudget } from "../protocol/budget.ts";
export { McpError, toolError } from "../protocol/errors.ts";
export type { Limits } from "../protocol/limits.ts";
export type { NotificationParams } from "../protocol/notification.ts";
export type { Auth, AuthClaims } from "../protocol/peer.ts";
export type { Platform } from "../protocol/platform.ts";
export type { CallEvent, RefusedEvent, ServerEvent } from "../protocol/server-event.ts";
export {
  type Call,
  type CallOf,
  type Middleware,
  type Outcome,
  type OutcomeOf,
  type Service,
  withCall,
  withMiddleware,
} from "../protocol/service.ts";
export type { SessionHooks } from "../protocol/session.ts";
export type { Addressee } from "../protocol/subscription.ts";
export type { ToolTypes, Typed } from "../protocol/tool.ts";
export type { AnySchema as Schema, InferIn, InferOut, ObjectSchema } from "../schema/infer.ts";
export { serveChannel } from "../transport/serve.ts";
export type { ServeChannelOptions, ServeHandle } from "../transport/serve-channel.ts";
export type { Accessible, Visible } from "./accessible.ts";
export type { AskOptions, AskUrlOptions } from "./ask.ts";
export type { Completer, Completers, CompletionContext } from "./completion.ts";
export { audio, type Binary, embeddedResource, image, resourceLink, text } from "./content.ts";
export { type CallerAuth, type Context, requireAuth } from "./context.ts";
export type { ErrorHook, ErrorSource } from "./error-reporter.ts";
export { jsonLines } from "./json-lines.ts";
export type { CustomMethod, ServerBudget, ServerBudgets, ServerOptions } from "./options.ts";
export {
  type PromptDefinition,
  type PromptDefinitions,
  type PromptOptions,
  type PromptReturn,
  prompt,
} from "./prompt.ts";
export { type ResourceDefinition, type ResourceOptions, type ResourceReturn, resource } from "./resource.ts";
export { type Collection, createServer, type Server } from "./server.ts";
export type { ServerTask } from "./server-tasks.ts";
export type { CallerState, Session, SessionState, State } from "./state-types.ts";
export type { TaskMode, TaskOptions } from "./tasks/task-record.ts";
export {
  type ToolDefinition,
  type ToolDefinitions,
  type ToolOptions,
  type ToolResult,
  type ToolReturn,
  tool,
} from "./tool.ts";
