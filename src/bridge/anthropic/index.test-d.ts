import type Anthropic from "@anthropic-ai/sdk";
import { expectTypeOf } from "vitest";
import type { CreateMessageParams } from "../../protocol/input.ts";
import { anthropic, type NamedResult } from "./index.ts";

declare const client: Anthropic;
declare const params: CreateMessageParams;
declare const results: readonly NamedResult[];
const kit = anthropic([]);

expectTypeOf(kit.tools).toExtend<Anthropic.MessageCreateParams["tools"]>();
expectTypeOf(kit.messages(params.messages)).toExtend<Anthropic.MessageParam[]>();
expectTypeOf(kit.results(results)).toExtend<Anthropic.MessageParam[]>();
expectTypeOf<Anthropic.Message>().toExtend<Parameters<typeof kit.calls>[0]>();
expectTypeOf<Anthropic.Message>().toExtend<Parameters<typeof kit.reply>[0]>();
expectTypeOf<Anthropic.Beta.BetaMessage>().toExtend<Parameters<typeof kit.calls>[0]>();

/** As it is used. */
export async function sample(): Promise<void> {
  const reply = await client.messages.create({ model: "claude", ...kit.request(params) });
  const messages: Anthropic.MessageParam[] = kit.messages(params.messages);
  messages.push({ role: "assistant", content: reply.content }, ...kit.results(results));
  await client.messages.create({ model: "claude", max_tokens: 1, tools: kit.tools, messages });
  kit.reply(reply);
  await kit.calls(reply);
}
