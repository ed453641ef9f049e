import { type Connect, createConnect } from "./create-connect.ts";
import { webPlatform } from "./web-platform.ts";

export { type ToolLoopOptions, type ToolLoopResult, toolLoop } from "../bridge/tool-loop.ts";
export type { AnswerContext, AnswerOptions } from "../client/answers.ts";
export type { CacheOptions } from "../client/cache-choice.ts";
export type { CachedCallOptions, CallOptions, LogEntry, Progress, ToolCallOptions } from "../client/call-options.ts";
export type { ListMethod, PagesOptions } from "../client/calls.ts";
export type { Client, ClientOptions } from "../client/client.ts";
export type { ElicitForm, ElicitLink, ElicitReply } from "../client/elicit.ts";
export type { Watch, WatchOptions } from "../client/listen.ts";
export type { FollowOptions, StartOptions, TaskHandle, Tasks } from "../client/tasks.ts";
export type { Tools } from "../client/typed-tools.ts";
export type { ClientWarning } from "../client/warning.ts";
export type { ChangeKinds } from "../client/watches.ts";
export { McpError } from "../model/errors.ts";
export type { DetailedTask, Task, TaskStatus } from "../model/task.ts";
export type { Command } from "../transport/command.ts";
export type { Connect, ConnectOptions } from "./create-connect.ts";
export type { ConfigEntry, Target, UrlEntry } from "./target.ts";

/**
 * Connects to a server and returns a client for it.
 *
 * Like `connect` on Node, but for programs: they cannot be started here, and
 * fail with `unsupported`.
 */
export const connect: Connect = createConnect(webPlatform);
