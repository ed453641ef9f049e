import { type Connect, createConnect } from "./create-connect.ts";
import { webPlatform } from "./web-platform.ts";

export type { CacheOptions } from "../client/cache-entries.ts";
export type { CachedCallOptions, CallOptions, LogEntry, Progress, ToolCallOptions } from "../client/call-options.ts";
export type { Client, ClientOptions } from "../client/client.ts";
export type { ElicitForm, ElicitReply, ElicitUrl } from "../client/elicitation.ts";
export type { ChangeKinds, Watch, WatchOptions } from "../client/listen.ts";
export type { QuestionContext, QuestionHandlers } from "../client/request-handlers.ts";
export type { ListMethod, PagesOptions } from "../client/requests.ts";
export type { ClientTasks, FollowOptions, StartOptions, TaskHandle } from "../client/tasks.ts";
export type {
  CallTool,
  ToolCallArguments,
  ToolCallResult,
  ToolFunction,
  ToolFunctions,
} from "../client/typed-tools.ts";
export type { ClientWarning } from "../client/warning.ts";
export { McpError } from "../protocol/errors.ts";
export type { DetailedTask, Task, TaskStatus } from "../protocol/task.ts";
export type { ToolsOf, ToolTypes, Typed } from "../protocol/tool.ts";
export type { Command } from "../transport/command.ts";
export type { ConnectOptions } from "./connect-options.ts";
export type { Connect } from "./create-connect.ts";
export type { ConfigEntry, ModuleEntry, OpenApiEntry, Target, UrlEntry } from "./target.ts";

/**
 * Connects to a server and returns a client for it.
 *
 * Like `connect` on Node, but for programs: they cannot be started here, and
 * fail with `unsupported`.
 */
export const connect: Connect = createConnect(webPlatform);
