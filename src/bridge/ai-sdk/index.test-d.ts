import { generateText, type LanguageModel, type ModelMessage, streamText, type ToolSet } from "ai";
import { expectTypeOf } from "vitest";
import type { CreateMessageParams } from "../../protocol/input.ts";
import type { CallToolResult } from "../../protocol/tool.ts";
import { aiSdk, type NamedResult } from "./index.ts";

declare const model: LanguageModel;
declare const params: CreateMessageParams;
declare const results: readonly NamedResult[];
declare function callTool(name: string, input: object, options: { signal?: AbortSignal }): Promise<CallToolResult>;

const kit = aiSdk([], {
  run: (name, input, { abortSignal }) => callTool(name, input, abortSignal ? { signal: abortSignal } : {}),
});

/** Not by expectTypeOf, which takes `any` inside of a type for a mismatch. */
export const tools: ToolSet = kit.tools;

expectTypeOf(kit.messages(params.messages)).toExtend<ModelMessage[]>();
expectTypeOf(kit.results(results)).toExtend<ModelMessage[]>();

/** As it is used. */
export async function sample(): Promise<void> {
  const reply = await generateText({ model, tools: kit.tools, prompt: "?" });
  const calls = await kit.calls(reply);
  const answer = kit.reply(reply);
  const again = await generateText({ model, ...kit.request(params) });
  kit.reply(again);
  const stream = streamText({
    model,
    tools: kit.tools,
    messages: [...kit.messages(params.messages), ...kit.results(results)],
  });
  kit.reply({ content: await stream.content, finishReason: await stream.finishReason });
  expectTypeOf(calls).not.toBeAny();
  expectTypeOf(answer).not.toBeAny();
}
