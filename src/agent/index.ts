/// <reference path="../index.ts" preserve="true" />
export type { FaultyCall, NamedResult, ProviderFormat, ReadyCall, ToolCall, Toolkit } from "../bridge/bridge.ts";
export { type RunTool, runToolCalls, toNamedResult } from "../bridge/run-tool-calls.ts";
export type { LoopReply } from "../bridge/tool-loop.ts";
export type { SourceTool } from "../catalog/sort-tools.ts";
export { type ModelChoice, pickModel } from "./pick-model.ts";
export {
  type AgentEvent,
  type Bridge,
  type Model,
  type RunToolsOptions,
  type RunToolsResult,
  runTools,
  type Send,
  toModel,
} from "./run-tools.ts";
export { createSampler, type SampleContext, type Sampler, type SamplerOptions } from "./sampler.ts";
export type { ToolSource } from "./tool-source.ts";
