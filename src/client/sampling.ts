import { McpError } from "../model/errors.ts";
import type { CreateMessageParams, SamplingContent, SamplingMessage } from "../model/input.ts";
import type { ClientCapabilities } from "../model/peer.ts";

/** Throws `invalid-params` when a request for sampling uses undeclared tools, or mixes up their results. */
export function checkSampling({ messages, tools, toolChoice }: CreateMessageParams, has: ClientCapabilities): void {
  if ((tools !== undefined || toolChoice !== undefined) && has.sampling?.tools === undefined) {
    throw new McpError("invalid-params", "this client does not declare sampling.tools");
  }
  checkToolResults(messages);
}

/** Every use of a tool is answered in the very next message, which holds nothing but results. */
function checkToolResults(messages: readonly SamplingMessage[]): void {
  let unanswered: ReadonlySet<string> = new Set();
  for (const [index, message] of messages.entries()) {
    const blocks = toBlocks(message);
    const answered = new Set(blocks.flatMap((block) => (block.type === "tool_result" ? [block.toolUseId] : [])));
    if (answered.size > 0 && blocks.some((block) => block.type !== "tool_result")) {
      throw new McpError("invalid-params", `messages[${index}] mixes tool results with other content`);
    }
    refuseDifference(unanswered, answered, index);
    unanswered = new Set(blocks.flatMap((block) => (block.type === "tool_use" ? [block.id] : [])));
  }
  refuseDifference(unanswered, new Set(), messages.length);
}

function refuseDifference(used: ReadonlySet<string>, answered: ReadonlySet<string>, index: number): void {
  for (const id of used) {
    if (!answered.has(id))
      throw new McpError("invalid-params", `messages[${index}] lacks the result of tool use ${id}`);
  }
  for (const id of answered) {
    if (!used.has(id))
      throw new McpError("invalid-params", `messages[${index}] has a result for unknown tool use ${id}`);
  }
}

function toBlocks({ content }: SamplingMessage): readonly SamplingContent[] {
  return [content].flat();
}
