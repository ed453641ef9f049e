/// <reference path="../index.ts" preserve="true" />

export type { Client } from "../client/client.ts";
export type { Watch } from "../client/listen.ts";
export type { TaskHandle, Tasks } from "../client/tasks.ts";
export type { ToolFunction, Tools } from "../client/typed-tools.ts";
export type { ServerProgram, ServerSurface } from "../lock/lock.ts";
export { McpError } from "../model/errors.ts";
export type { ApprovalRequest, Policy, PolicyAction, PolicyHints, PolicyRule } from "./access.ts";
export type { ChangesOptions, HostChange, HostChanges, ResourceRef } from "./change-feed.ts";
export type { Failures, MemberState, RestartRules } from "./connection-state.ts";
export type { Host, HostOptions } from "./host.ts";
export type { HostPrompt, HostResource, HostResourceTemplate, HostTool, Listing, Missing } from "./host-tool.ts";
export type { HostAnswerContext, QuestionOptions } from "./input-handlers.ts";
export type { HostInstructions, ListOptions } from "./list-cache.ts";
export { type ConfigObject, type OpenHostOptions, openHost } from "./node/open-host.ts";
export type { ResultBudget } from "./results.ts";
export type { Servers } from "./server-registry.ts";
export type { AuthFor, AuthRequest, ServerOptions, ServerSpec, ToolFilter, Trust } from "./spec.ts";
export type { HostEvent, ServerStatus } from "./status.ts";
