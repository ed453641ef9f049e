import type { JsonObject } from "../json/json.ts";
import type { TextContent } from "../protocol/content.ts";
import { McpError } from "../protocol/errors.ts";
import type {
  CreateMessageParams,
  CreateMessageResult,
  SamplingContent,
  SamplingMessage,
  ToolResultContent,
  ToolUseContent,
} from "../protocol/input.ts";
import type { CallToolResult, Tool } from "../protocol/tool.ts";
import { type Clock, systemClock } from "../std/clock.ts";
import { defined, type OrUndefined } from "../std/defined.ts";

/** Aborts when the loop ends, so that `sample` and `run` can stop early. */
export interface LoopContext {
  readonly signal: AbortSignal;
}

/** The context of one tool run. */
export interface ToolRunContext extends LoopContext {
  /** The use that is answered, as the model named it. */
  readonly id: string;
}

/** What a model said. */
export interface LoopReply extends CreateMessageResult {
  /** Messages for the model about tool uses that cannot be run, by their id. */
  readonly problems?: ReadonlyMap<string, string>;
}

export interface ToolLoopOptions extends OrUndefined<CreateMessageParams> {
  readonly tools: readonly Tool[];
  /** Asks the model once. */
  sample(params: CreateMessageParams, context: LoopContext): Promise<LoopReply>;
  /**
   * Runs one of the tools. A string becomes text content. The message of an error that it throws becomes an error
   * result.
   */
  run(name: string, input: JsonObject, context: ToolRunContext): Promise<CallToolResult | string>;
  /** Maximum number of model requests. Default 10. The last one tells the model to use no more tools. */
  readonly maxTurns?: number | undefined;
  /** Time limit of the whole loop, in milliseconds. Default 300,000 (5 min); 0 disables the limit. */
  readonly maxTotalMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock | undefined;
}

export interface ToolLoopResult {
  /** The answer without tool use that ended the loop. */
  readonly result: CreateMessageResult;
  /** The whole conversation, the given messages and the answer included. */
  readonly messages: readonly SamplingMessage[];
  /** How often the model was asked. */
  readonly turns: number;
}

/**
 * Lets a model use tools until it has an answer.
 *
 * All tools of a turn run at the same time and their results go back in one
 * message; a tool that fails, or that was never offered, is an error result for
 * the model to read. Rejects with `limit-reached` naming the limit, `cancelled`
 * when the signal aborts, or whatever `sample` rejects with.
 */
export async function toolLoop(options: ToolLoopOptions): Promise<ToolLoopResult> {
  const { sample, run, maxTurns = 10, maxTotalMs = 300_000, signal: given, clock = systemClock, ...rest } = options;
  const params = defined(rest);
  const deadline = startDeadline(maxTotalMs, clock, given);
  const context = { signal: deadline.signal };
  const messages: SamplingMessage[] = [...params.messages];
  try {
    for (let turn = 1; turn <= maxTurns; turn++) {
      const asked = { ...params, messages: [...messages], ...(turn === maxTurns && { toolChoice: noTools }) };
      const { problems, ...result } = await deadline.limit(() => sample(asked, context));
      messages.push({ role: "assistant", content: result.content });
      const uses = usesIn(result.content);
      if (uses.length === 0) return { result, messages, turns: turn };
      if (turn === maxTurns) break;
      const results = await deadline.limit(() =>
        Promise.all(
          uses.map((use) => {
            const problem = problems?.get(use.id);
            return problem === undefined ? runTool(use, options, context) : failed(use.id, problem);
          }),
        ),
      );
      messages.push({ role: "user", content: results });
    }
  } finally {
    deadline.stop();
  }
  throw new McpError("limit-reached", `the model still asks for tools after maxTurns ${maxTurns}`, {
    data: { limit: "maxTurns", max: maxTurns, scope: "call" },
  });
}

const noTools = { mode: "none" } as const;

function usesIn(content: CreateMessageResult["content"]): readonly ToolUseContent[] {
  const blocks: readonly SamplingContent[] = [content].flat();
  return blocks.filter((block) => block.type === "tool_use");
}

async function runTool(
  use: ToolUseContent,
  options: ToolLoopOptions,
  context: LoopContext,
): Promise<ToolResultContent> {
  const { id, name, input } = use;
  if (!options.tools.some((tool) => tool.name === name)) return failed(id, `unknown tool ${name}`);
  try {
    const output = await options.run(name, input, { ...context, id });
    return typeof output === "string" ? toolResult(id, { content: [toText(output)] }) : toolResult(id, output);
  } catch (error) {
    return failed(id, error instanceof Error ? error.message : String(error));
  }
}

function failed(id: string, message: string): ToolResultContent {
  return toolResult(id, { content: [toText(message)], isError: true });
}

function toText(text: string): TextContent {
  return { type: "text", text };
}

function toolResult(toolUseId: string, { content, structuredContent, isError }: CallToolResult): ToolResultContent {
  return {
    type: "tool_result",
    toolUseId,
    content,
    ...(structuredContent !== undefined && { structuredContent }),
    ...(isError === true && { isError }),
  };
}

/** The time limit of a loop. */
interface LoopDeadline {
  readonly signal: AbortSignal;
  /** Settles as `work` does, or rejects as soon as the time is over, because `work` may ignore its signal. */
  limit<T>(work: () => Promise<T>): Promise<T>;
  stop(): void;
}

function startDeadline(maxTotalMs: number, clock: Clock, given: AbortSignal | undefined): LoopDeadline {
  const controller = new AbortController();
  const { signal } = controller;
  const end = (error: McpError): void => controller.abort(error);
  const expire = (): void =>
    end(
      new McpError("limit-reached", `the tool loop took longer than maxTotalMs ${maxTotalMs}`, {
        data: { limit: "maxTotalMs", max: maxTotalMs, scope: "call" },
      }),
    );
  const cancel = (): void => end(new McpError("cancelled", "the tool loop was cancelled", { cause: given?.reason }));
  const stopTimer = maxTotalMs > 0 ? clock.after(maxTotalMs, expire) : undefined;
  const releaseProcess = clock.hold?.();
  if (given?.aborted) cancel();
  given?.addEventListener("abort", cancel, { once: true });

  return {
    signal,
    async limit(work) {
      signal.throwIfAborted();
      let onAbort = (): void => {};
      const over = new Promise<never>((_, reject) => {
        onAbort = () => reject(signal.reason);
      });
      signal.addEventListener("abort", onAbort, { once: true });
      try {
        return await Promise.race([work(), over]);
      } finally {
        signal.removeEventListener("abort", onAbort);
      }
    },
    stop() {
      stopTimer?.();
      releaseProcess?.();
      given?.removeEventListener("abort", cancel);
    },
  };
}
