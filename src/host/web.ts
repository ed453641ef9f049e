import { createDial } from "../connect/create-connect.ts";
import { webPlatform } from "../connect/web-platform.ts";
import { createHost, type Host } from "./host.ts";
import type { HostOptions } from "./options.ts";
import { type Servers, toSpecs } from "./servers.ts";

export type { AgentEvent } from "../agent/agent-event.ts";
export { type ModelChoice, pickModel } from "../agent/pick-model.ts";
export { type Model, type RunToolsOptions, type RunToolsResult, runTools } from "../agent/run-tools.ts";
export { createSampler, type SampleContext, type Sampler, type SamplerOptions } from "../agent/sampler.ts";
export { type SourceTool, type ToolSource, toCatalog } from "../agent/tool-source.ts";
export { type CatalogTool, fullNameOf } from "../catalog/catalog-tool.ts";
export { type Disclosure, type DisclosurePolicy, disclose } from "../catalog/disclose.ts";
export type { ToolCaller } from "../catalog/meta-tool.ts";
export { type Meter, meter } from "../catalog/meter.ts";
export { inStableOrder } from "../catalog/stable-order.ts";
export { tokensIn, tokensOf } from "../catalog/tokens.ts";
export { createToolIndex, type Hit, type SearchOptions, type ToolIndex } from "../catalog/tool-index.ts";
export { approve, approveServer, forget } from "../lock/approve.ts";
export { compareLock, isClean, type LockDiff, type ServerDiff } from "../lock/compare-lock.ts";
export { createLock } from "../lock/create-lock.ts";
export { formatDiff } from "../lock/format-diff.ts";
export { formatLock } from "../lock/format-lock.ts";
export { type Lock, type LockedServer, lockedTools, type ServerSurface } from "../lock/lock.ts";
export { parseLock } from "../lock/parse-lock.ts";
export { type Verdict, verdictOf } from "../lock/verdict.ts";
export { McpError } from "../model/errors.ts";
export { type GenerateTypesOptions, generateTypes, type ListedServer } from "../typegen/generate-types.ts";
export type { ChangesOptions, HostChange, HostChanges, ResourceRef } from "./change-feed.ts";
export type { Host } from "./host.ts";
export type { HostEvent } from "./host-event.ts";
export type { HostPrompt, HostResource, HostResourceTemplate, HostTool, Listing, Missing } from "./host-tool.ts";
export type { HostInstructions, ListOptions } from "./listings.ts";
export type { RestartRules } from "./member-state.ts";
export type { HostOptions } from "./options.ts";
export type { ApprovalRequest, Policy, PolicyAction, PolicyHints, PolicyRule } from "./policy.ts";
export type { HostAnswerContext, QuestionOptions } from "./questions.ts";
export type { ResultBudget } from "./results.ts";
export type { Servers } from "./servers.ts";
export type { ServerOptions, ServerSpec, ToolFilter, Trust } from "./spec.ts";
export type { ServerStatus } from "./status.ts";

/**
 * Opens a host over servers that are given in code. Like `openHost` on Node, but
 * for files and programs: there are none here.
 */
export async function openHost(servers: Servers, options: HostOptions = {}): Promise<Host> {
  return createHost(toSpecs(servers), options, { dial: createDial(webPlatform) });
}
