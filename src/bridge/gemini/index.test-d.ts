import type { Content, FunctionDeclaration, GenerateContentResponse, GoogleGenAI, ToolListUnion } from "@google/genai";
import { expectTypeOf } from "vitest";
import type { CreateMessageParams } from "../../protocol/input.ts";
import { gemini, type NamedResult } from "./index.ts";

declare const client: GoogleGenAI;
declare const params: CreateMessageParams;
declare const results: readonly NamedResult[];
const kit = gemini([]);

expectTypeOf(kit.tools).toExtend<FunctionDeclaration[]>();
expectTypeOf([{ functionDeclarations: kit.tools }]).toExtend<ToolListUnion>();
expectTypeOf(kit.messages(params.messages)).toExtend<Content[]>();
expectTypeOf(kit.results(results)).toExtend<Content[]>();
expectTypeOf<GenerateContentResponse>().toExtend<Parameters<typeof kit.calls>[0]>();
expectTypeOf<GenerateContentResponse>().toExtend<Parameters<typeof kit.reply>[0]>();

/** As it is used. */
export async function sample(): Promise<void> {
  const reply = await client.models.generateContent({ model: "gemini", ...kit.request(params) });
  const contents: Content[] = kit.messages(params.messages);
  contents.push(...kit.results(results));
  const config = { tools: [{ functionDeclarations: kit.tools }] };
  await client.models.generateContent({ model: "gemini", contents, config });
  kit.reply(reply);
  await kit.calls(reply);
}
