export { fail, McpError } from "../model/errors.ts";
export type { Auth, AuthClaims } from "../model/peer.ts";
export { type Call, compose, type Middleware, type Outcome, type Service, withCall } from "../model/service.ts";
export type { AskOptions } from "./ask.ts";
export type { Completer, Completers, CompletionContext } from "./completion.ts";
export { audio, type Binary, embed, image, link, text } from "./content.ts";
export type { Context } from "./context.ts";
export { type PromptDefinition, type PromptOptions, type Prompts, prompt } from "./define-prompt.ts";
export { type ResourceDefinition, type ResourceOptions, resource } from "./define-resource.ts";
export {
  type CheckedTool,
  type PlainTool,
  type TaskMode,
  type ToolDefinition,
  type Tools,
  tool,
} from "./define-tool.ts";
export type { FaultHook, FaultPlace } from "./faults.ts";
export type { CustomMethod, ServerOptions, TaskLimits } from "./options.ts";
export { requireAuth } from "./require-auth.ts";
export { type Announcements, type Collection, createServer, type Server } from "./server.ts";
