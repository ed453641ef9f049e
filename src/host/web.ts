import { createDial } from "../connect/create-connect.ts";
import { webPlatform } from "../connect/web-platform.ts";
import { checkOptionNames } from "../model/option-names.ts";
import { createHost, type Host, type HostOptions, hostOptionNames } from "./host.ts";
import { type Servers, toSpecs } from "./server-registry.ts";

export type { Client } from "../client/client.ts";
export type { Watch } from "../client/listen.ts";
export type { TaskHandle, Tasks } from "../client/tasks.ts";
export type { ToolFunction, Tools } from "../client/typed-tools.ts";
export { McpError } from "../model/errors.ts";
export type { ApprovalRequest, Policy, PolicyAction, PolicyHints, PolicyRule } from "./access.ts";
export type { ChangesOptions, HostChange, HostChanges, ResourceRef } from "./change-feed.ts";
export type { RestartRules } from "./connection-state.ts";
export type { Host, HostOptions } from "./host.ts";
export type { HostPrompt, HostResource, HostResourceTemplate, HostTool, Listing, Missing } from "./host-tool.ts";
export type { HostAnswerContext, QuestionOptions } from "./input-handlers.ts";
export type { HostInstructions, ListOptions } from "./list-cache.ts";
export type { ResultBudget } from "./results.ts";
export type { Servers } from "./server-registry.ts";
export type { ServerOptions, ServerSpec, ToolFilter, Trust } from "./spec.ts";
export type { HostEvent, ServerStatus } from "./status.ts";

/**
 * Opens a host over servers that are given in code. Like `openHost` on Node, but
 * for files and programs: there are none here.
 */
export async function openHost(servers: Servers, options: HostOptions = {}): Promise<Host> {
  checkOptionNames("openHost", options, hostOptionNames);
  return createHost(toSpecs(servers), options, { dial: createDial(webPlatform) });
}
