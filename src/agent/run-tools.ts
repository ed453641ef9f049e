import type { ProviderFormat, ToolCall, Toolkit } from "../bridge/bridge.ts";
import { type LoopContext, type LoopReply, toolLoop } from "../bridge/tool-loop.ts";
import { type SelectionPolicy, selectTools } from "../catalog/select-tools.ts";
import { toCatalogTools } from "../catalog/sort-tools.ts";
import { estimateTokens } from "../catalog/tokens.ts";
import type { Progress } from "../client/call-options.ts";
import type { JsonObject } from "../json/json.ts";
import { McpError } from "../protocol/errors.ts";
import type { CreateMessageParams, CreateMessageResult, SamplingContent, SamplingMessage } from "../protocol/input.ts";
import { checkOptionNames, type OptionNames } from "../protocol/option-names.ts";
import type { CallToolResult, Tool } from "../protocol/tool.ts";
import { type Clock, systemClock } from "../std/clock.ts";
import { createGate } from "../std/gate.ts";
import { readPage, runReadPage, type ToolSource } from "./tool-source.ts";

/**
 * Asks a model once: any function that maps messages to a reply. A bridge makes
 * one of the API of a provider; a text is a reply too.
 */
export type Model = (params: CreateMessageParams, context: LoopContext) => Promise<LoopReply | string>;

export interface RunToolsOptions {
  readonly model: Model;
  readonly messages: readonly SamplingMessage[] | string;
  /** Whose tools the model may use. */
  readonly tools: ToolSource;
  readonly systemPrompt?: string | undefined;
  /** How long one reply may be, in tokens. Default 4096. */
  readonly maxTokens?: number | undefined;
  /** Which tools are in the prompt of the model, and when. Default `auto`. */
  readonly selection?: SelectionPolicy | SelectionPolicy["kind"] | undefined;
  /** Maximum number of model requests. Default 10. */
  readonly maxTurns?: number | undefined;
  /** Time limit of the whole run, in milliseconds. Default 300,000 (5 min); 0 disables the limit. */
  readonly maxTotalMs?: number | undefined;
  /** Maximum number of tool calls; after that the model is asked for its answer. Default 100. */
  readonly maxCalls?: number | undefined;
  /** How many tools run at once. Default 8. */
  readonly maxParallel?: number | undefined;
  /** How long the conversation may become, in estimated tokens; beyond that it ends with `limit-reached`. Default: no limit. */
  readonly maxContextTokens?: number | undefined;
  /** Called with each event. Must not throw. */
  readonly onEvent?: ((event: AgentEvent) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock | undefined;
}

const optionNames: OptionNames<RunToolsOptions> = {
  model: true,
  messages: true,
  tools: true,
  systemPrompt: true,
  maxTokens: true,
  selection: true,
  maxTurns: true,
  maxTotalMs: true,
  maxCalls: true,
  maxParallel: true,
  maxContextTokens: true,
  onEvent: true,
  signal: true,
  clock: true,
};

export interface RunToolsResult {
  /** The text of the last reply. */
  readonly text: string;
  readonly reply: CreateMessageResult;
  /** The whole conversation, which a further run can continue. */
  readonly messages: readonly SamplingMessage[];
  readonly turns: number;
  /** How many tools were called. */
  readonly calls: number;
}

/**
 * Lets a model use the tools of a host until it has an answer.
 *
 * Tools of one turn run in parallel. An error of a tool, a denied call and an unknown tool become error results for the
 * model, which may try again. Rejects with `limit-reached` naming the limit, `cancelled`, or whatever the model rejects
 * with.
 */
export async function runTools(options: RunToolsOptions): Promise<RunToolsResult> {
  checkOptionNames("runTools", options, optionNames);
  const {
    tools: host,
    model,
    selection = "auto",
    maxCalls = 100,
    maxParallel = 8,
    signal,
    clock = systemClock,
  } = options;
  const listed = await host.listTools({ signal });
  const { tools, run } = selectTools(toCatalogTools(listed), selection);
  const offered = host.readResultPage === undefined ? tools : [...tools, readPage];
  const tell = options.onEvent ?? (() => {});
  const gate = createGate({ maxRunning: maxParallel, maxWaiting: Number.POSITIVE_INFINITY });
  let turns = 0;
  let calls = 0;

  const sample = async (params: CreateMessageParams, context: LoopContext): Promise<LoopReply> => {
    refuseTooLong(params, options.maxContextTokens);
    const turn = ++turns;
    tell({ kind: "turn", turn });
    const reply = toReply(await model(params, context));
    tell({ kind: "reply", turn, reply });
    return reply;
  };

  const call = async (name: string, input: JsonObject, id: string, loop: AbortSignal): Promise<CallToolResult> => {
    if (++calls > maxCalls)
      return problem(`no more than ${maxCalls} tool calls are allowed: answer with what you have`);
    if (name === readPage.name) return asResult(await runReadPage(host, input, loop));
    return run(name, input, (full, args) =>
      host.callTool(full, args, {
        signal: loop,
        onProgress: (progress) => tell({ kind: "progress", id, name: full, progress }),
      }),
    );
  };

  const { result, messages } = await toolLoop({
    messages: typeof options.messages === "string" ? [fromUser(options.messages)] : options.messages,
    maxTokens: options.maxTokens ?? 4096,
    ...(options.systemPrompt !== undefined && { systemPrompt: options.systemPrompt }),
    tools: offered,
    sample,
    async run(name, input, { id, signal: loop }) {
      tell({ kind: "call", id, name, input });
      const startedAt = clock.now();
      const outcome = await inTurn(gate, () => call(name, input, id, loop)).catch((error: unknown) =>
        problem(messageOf(error)),
      );
      tell({ kind: "result", id, name, result: outcome, tookMs: clock.now() - startedAt });
      return outcome;
    },
    maxTurns: options.maxTurns ?? 10,
    maxTotalMs: options.maxTotalMs ?? 300_000,
    ...(signal && { signal }),
    clock,
  });
  return { text: textOf(result), reply: result, messages, turns, calls: Math.min(calls, maxCalls) };
}

function refuseTooLong({ messages }: CreateMessageParams, maxTokens: number | undefined): void {
  if (maxTokens === undefined) return;
  const tokens = estimateTokens(JSON.stringify(messages));
  if (tokens <= maxTokens) return;
  throw new McpError(
    "limit-reached",
    `the conversation has about ${tokens} tokens, more than maxContextTokens ${maxTokens}`,
    { data: { limit: "maxContextTokens", max: maxTokens, scope: "call" } },
  );
}

function inTurn<T>(gate: ReturnType<typeof createGate>, work: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    void gate.run(() => work().then(resolve, reject));
  });
}

function fromUser(text: string): SamplingMessage {
  return { role: "user", content: { type: "text", text } };
}

function toReply(reply: LoopReply | string): LoopReply {
  if (typeof reply !== "string") return reply;
  return { role: "assistant", content: { type: "text", text: reply }, model: "", stopReason: "endTurn" };
}

function asResult(result: CallToolResult | string): CallToolResult {
  return typeof result === "string" ? { content: [{ type: "text", text: result }] } : result;
}

function problem(text: string): CallToolResult {
  return { content: [{ type: "text", text }], isError: true };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function textOf({ content }: CreateMessageResult): string {
  const blocks: readonly SamplingContent[] = [content].flat();
  return blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}

/** What happens during a run, for a user interface. */
export type AgentEvent =
  /** The model is asked, for the first time or with results. */
  | { readonly kind: "turn"; readonly turn: number }
  | { readonly kind: "reply"; readonly turn: number; readonly reply: CreateMessageResult }
  /** A tool is called. `id` is the same in all events of the call. */
  | { readonly kind: "call"; readonly id: string; readonly name: string; readonly input: JsonObject }
  | { readonly kind: "progress"; readonly id: string; readonly name: string; readonly progress: Progress }
  | {
      readonly kind: "result";
      readonly id: string;
      readonly name: string;
      readonly result: CallToolResult;
      readonly tookMs: number;
    };

/** Makes the tools of a request for a provider: one of the bridges. */
export type Bridge<F extends ProviderFormat> = (tools: readonly Tool[]) => Toolkit<F>;

/** Sends a request to the provider, and resolves with its reply. */
export type Send<F extends ProviderFormat> = (request: F["request"], context: LoopContext) => Promise<F["reply"]>;

/**
 * Creates a model for `runTools` and `toolLoop` from a bridge and a function that sends requests.
 *
 * A call with arguments that are not JSON, or that are invalid for the schema of the tool, is not made: the model
 * receives the problem as its result, and may correct it.
 */
export function toModel<F extends ProviderFormat>(
  bridge: Bridge<F>,
  send: Send<F>,
): (params: CreateMessageParams, context: LoopContext) => Promise<LoopReply> {
  return async (params, context) => {
    const kit = bridge(params.tools ?? []);
    const reply = await send(kit.request(params), context);
    const calls = await kit.calls(reply);
    const problems = new Map(
      calls.flatMap(({ id, problem }) => (problem === undefined ? [] : [[id, problem] as const])),
    );
    const result = readReply(kit, reply, calls);
    return problems.size === 0 ? result : { ...result, problems };
  };
}

/** Where not even the arguments can be read, the calls are all that is left of a reply. */
function readReply<F extends ProviderFormat>(
  kit: Toolkit<F>,
  reply: F["reply"],
  calls: readonly ToolCall[],
): CreateMessageResult {
  try {
    return kit.reply(reply);
  } catch (error) {
    const isReadable = error instanceof McpError && error.code === "invalid-response" && calls.length > 0;
    if (!isReadable) throw error;
    const content = calls.map(({ id, name, input = {} }): SamplingContent => ({ type: "tool_use", id, name, input }));
    return { role: "assistant", content, model: "", stopReason: "toolUse" };
  }
}
