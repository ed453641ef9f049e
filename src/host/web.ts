import { createDial } from "../connect/create-connect.ts";
import { webPlatform } from "../connect/web-platform.ts";
import { checkOptionNames } from "../protocol/option-names.ts";
import type { ToolTypes } from "../protocol/tool.ts";
import { createHost, type Host, type HostOptions, hostOptionNames } from "./host.ts";
import { type Servers, toSpecs } from "./server-registry.ts";

export type { Client } from "../client/client.ts";
export type { Watch } from "../client/listen.ts";
export type { ClientTasks, TaskHandle } from "../client/tasks.ts";
export type {
  CallTool,
  ToolCallArguments,
  ToolCallResult,
  ToolFunction,
  ToolFunctions,
} from "../client/typed-tools.ts";
export { McpError } from "../protocol/errors.ts";
export type { HiddenText } from "../std/hidden-text.ts";
export type { ApprovalRequest, Policy, PolicyAction, PolicyHints, PolicyRule } from "./access.ts";
export type { ServerLimit } from "./caller-shares.ts";
export type { ChangesOptions, HostChange, HostChanges, ResourceRef } from "./change-feed.ts";
export type { RestartOptions } from "./connection-state.ts";
export type { Host, HostOptions } from "./host.ts";
export type { HostBudget, HostBudgets } from "./host-budgets.ts";
export type {
  HostPrompt,
  HostResource,
  HostResourceTemplate,
  HostTool,
  Listing,
  MissingServer,
  ToolListing,
  WithheldTool,
} from "./host-tool.ts";
export type { HostQuestionContext, HostQuestionHandlers } from "./input-handlers.ts";
export type { HostInstructions, HostListOptions } from "./list-cache.ts";
export type { MaskedFailure } from "./outward.ts";
export type { ResultLimits } from "./results.ts";
export type { Servers } from "./server-registry.ts";
export type { HostConnectOptions, ServerSpec, ToolFilter, Trust } from "./spec.ts";
export type { HostEvent, ServerStatus } from "./status.ts";

/**
 * Opens a host over servers that are given in code. Like `openHost` on Node, but
 * for files and programs: there are none here.
 */
export async function openHost<T extends ToolTypes = ToolTypes>(
  servers: Servers,
  options: HostOptions = {},
): Promise<Host<T>> {
  checkOptionNames("openHost", options, hostOptionNames);
  return createHost<T>(toSpecs(servers), options, { dial: createDial(webPlatform) });
}
