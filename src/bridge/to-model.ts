import { McpError } from "../model/errors.ts";
import type { CreateMessageParams, CreateMessageResult, SamplingContent } from "../model/input.ts";
import type { Tool } from "../model/tool.ts";
import type { ProviderFormat, ToolCall, Toolkit } from "./bridge.ts";
import type { LoopContext, LoopReply } from "./tool-loop.ts";

/** Makes the tools of a request for a provider: one of the bridges. */
export type Bridge<F extends ProviderFormat> = (tools: readonly Tool[]) => Toolkit<F>;

/** Sends a request of the provider, and gives its reply. */
export type Send<F extends ProviderFormat> = (request: F["request"], context: LoopContext) => Promise<F["reply"]>;

/**
 * A model of a bridge and a way to send, for `runTools` and `toolLoop`.
 *
 * A call that cannot be made, because its arguments are no JSON or do not fit the
 * schema of the tool, is not made: the model is told why, and may mend it.
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
