import type OpenAI from "openai";
import { expectTypeOf } from "vitest";
import type { CreateMessageParams } from "../../protocol/input.ts";
import { type NamedResult, openaiChat, openaiResponses } from "./index.ts";

declare const client: OpenAI;
declare const params: CreateMessageParams;
declare const results: readonly NamedResult[];

const chat = openaiChat([], { strict: true });

expectTypeOf(chat.tools).toExtend<OpenAI.Chat.ChatCompletionTool[]>();
expectTypeOf(chat.messages(params.messages)).toExtend<OpenAI.Chat.ChatCompletionMessageParam[]>();
expectTypeOf(chat.results(results)).toExtend<OpenAI.Chat.ChatCompletionMessageParam[]>();
expectTypeOf<OpenAI.Chat.ChatCompletion>().toExtend<Parameters<typeof chat.calls>[0]>();
expectTypeOf<OpenAI.Chat.ChatCompletion>().toExtend<Parameters<typeof chat.reply>[0]>();

const responses = openaiResponses([], { strict: true });

expectTypeOf(responses.tools).toExtend<OpenAI.Responses.Tool[]>();
expectTypeOf(responses.messages(params.messages)).toExtend<OpenAI.Responses.ResponseInput>();
expectTypeOf(responses.results(results)).toExtend<OpenAI.Responses.ResponseInput>();
expectTypeOf<OpenAI.Responses.Response>().toExtend<Parameters<typeof responses.calls>[0]>();
expectTypeOf<OpenAI.Responses.Response>().toExtend<Parameters<typeof responses.reply>[0]>();

/** As it is used. */
export async function sample(): Promise<void> {
  const completion = await client.chat.completions.create({ model: "gpt", ...chat.request(params) });
  chat.reply(completion);
  await chat.calls(completion);
  const response = await client.responses.create({ model: "gpt", ...responses.request(params) });
  const input: OpenAI.Responses.ResponseInput = responses.messages(params.messages);
  input.push(...response.output.filter((item) => item.type === "function_call"), ...responses.results(results));
  await client.responses.create({ model: "gpt", input, tools: responses.tools });
}
