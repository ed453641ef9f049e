import { toolLoop } from "../bridge/tool-loop.ts";
import type { SourceTool } from "../catalog/sort-tools.ts";
import { McpError } from "../protocol/errors.ts";
import type { CreateMessageParams, CreateMessageResult } from "../protocol/input.ts";
import type { Clock } from "../std/clock.ts";
import { type ModelChoice, pickModel } from "./pick-model.ts";
import type { ToolSource } from "./tool-source.ts";

export interface SamplerOptions<T extends ModelChoice> {
  /** The models there are. The first is the one for servers without a preference. */
  readonly models: readonly T[];
  /** Asks a model once. */
  generate(model: T, params: CreateMessageParams, context: SampleContext): Promise<CreateMessageResult>;
  /**
   * Asked before the model is, with what would be sent. False refuses the server
   * with `rejected`. Default: no question, since giving a sampler and trusting
   * the server is the consent.
   */
  readonly onApprove?:
    | ((params: CreateMessageParams, context: SampleContext) => boolean | Promise<boolean>)
    | undefined;
  /**
   * The source of the tools that the model may use when the server asks for context: those of the server itself
   * (`thisServer`) or of all servers (`allServers`). The host runs them. Default: only the tools in the request of the
   * server, which the server runs itself.
   */
  readonly tools?: (() => ToolSource) | undefined;
  /** Maximum number of model requests for one answer with tools. Default 10. */
  readonly maxTurns?: number | undefined;
  /** Time limit of one answer with tools, in milliseconds. Default 300,000 (5 min). */
  readonly maxTotalMs?: number | undefined;
  /** No reply is longer, whatever the server asks for. Default 4096. */
  readonly maxTokens?: number | undefined;
  readonly clock?: Clock | undefined;
}

export interface SampleContext {
  readonly signal: AbortSignal;
  /** The server that asks. */
  readonly server: string;
}

export type Sampler = (params: CreateMessageParams, context: SampleContext) => Promise<CreateMessageResult>;

/**
 * Answers sampling requests of servers: picks a model by the preferences of the server, and runs tools where these were
 * requested. For `onSample` of a host.
 */
export function createSampler<T extends ModelChoice>(options: SamplerOptions<T>): Sampler {
  const {
    models,
    generate,
    onApprove,
    tools: host,
    maxTurns = 10,
    maxTotalMs = 300_000,
    maxTokens = 4096,
    clock,
  } = options;

  return async (asked, context) => {
    const params = { ...asked, maxTokens: Math.min(asked.maxTokens, maxTokens) };
    const model = pickModel(models, params.modelPreferences);
    if (model === undefined) throw new McpError("unsupported", "the host has no model");
    if (onApprove !== undefined && (await onApprove(params, context)) !== true) {
      throw new McpError("rejected", "the user did not allow it");
    }
    const tools = host === undefined ? [] : await toolsFor(params, host(), context);
    if (host === undefined || tools.length === 0) return generate(model, params, context);
    const { result } = await toolLoop({
      ...params,
      tools,
      sample: (turn, { signal }) => generate(model, turn, { ...context, signal }),
      run: (name, input, { signal }) => host().callTool(name, input, { signal }),
      maxTurns,
      maxTotalMs,
      signal: context.signal,
      ...(clock && { clock }),
    });
    return result;
  };
}

/** A server that brings its own tools runs them itself: it is not to be mixed with ours. */
async function toolsFor(
  { includeContext = "none", tools }: CreateMessageParams,
  source: ToolSource,
  { server, signal }: SampleContext,
): Promise<readonly SourceTool[]> {
  if (includeContext === "none" || tools !== undefined) return [];
  const all = await source.listTools({ signal });
  return includeContext === "allServers" ? all : all.filter((tool) => tool.server === server);
}
