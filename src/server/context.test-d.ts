import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { expectTypeOf } from "vitest";
import { z } from "zod";
import type { CreateMessageResult, ElicitResult, Root } from "../protocol/input.ts";
import type { Context } from "./context.ts";

declare const ctx: Context;

// The content of a form is what its schema says.
expectTypeOf(ctx.ask("?", z.object({ ok: z.boolean() }))).resolves.toEqualTypeOf<{ ok: boolean }>();
expectTypeOf(ctx.ask("?", toStandardJsonSchema(v.object({ ok: v.boolean() })))).resolves.toEqualTypeOf<{
  ok: boolean;
}>();
expectTypeOf(ctx.ask("?", type({ ok: "boolean" }))).resolves.toEqualTypeOf<{ ok: boolean }>();
expectTypeOf(
  ctx.ask("?", { type: "object", properties: { ok: { type: "boolean" }, n: { type: "number" } }, required: ["ok"] }),
).resolves.toEqualTypeOf<{ ok: boolean; n?: number }>();
expectTypeOf(ctx.ask("Sure?")).resolves.toExtend<object>();
ctx.ask("Sure?", undefined, { key: "sure" });

expectTypeOf(ctx.askUrl("?", "https://x")).resolves.toEqualTypeOf<void>();
expectTypeOf(ctx.elicit({ mode: "url", message: "?", url: "https://x" })).resolves.toEqualTypeOf<ElicitResult>();
expectTypeOf(ctx.sample({ messages: [], maxTokens: 1 })).resolves.toEqualTypeOf<CreateMessageResult>();
expectTypeOf(ctx.roots({ key: "places" })).resolves.toEqualTypeOf<readonly Root[]>();
expectTypeOf(ctx.track([1, 2])).toEqualTypeOf<AsyncIterable<number>>();
expectTypeOf(ctx.track(new Map<string, number>())).toEqualTypeOf<AsyncIterable<[string, number]>>();

// A step gives what its work does: also nothing, and also what only has an interface.
interface Hold {
  readonly id: string;
  readonly legs: readonly number[];
}
declare function hold(): Promise<Hold>;
expectTypeOf(ctx.step("hold", hold)).resolves.toEqualTypeOf<Hold>();
expectTypeOf(ctx.step("n", () => 1)).resolves.toEqualTypeOf<number>();
expectTypeOf(ctx.step("mail", async () => {})).resolves.toEqualTypeOf<void>();

// @ts-expect-error no such level
ctx.log("loud", "x");
// @ts-expect-error a form has a schema, not a list of fields
ctx.ask("?", "ok");
// @ts-expect-error maxTokens is required
ctx.sample({ messages: [] });
// @ts-expect-error progress is a number
ctx.progress("half");
// @ts-expect-error a context is not changed
ctx.signal = new AbortController().signal;
