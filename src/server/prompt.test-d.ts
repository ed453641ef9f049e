import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { expectTypeOf } from "vitest";
import { z } from "zod";
import { text } from "./content.ts";
import type { Context } from "./context.ts";
import { prompt } from "./prompt.ts";

// Arguments come from the schema, whichever library it is of.
prompt({
  arguments: z.object({ sku: z.string(), n: z.coerce.number() }),
  get: (args, context) => {
    expectTypeOf(args).toEqualTypeOf<{ sku: string; n: number }>();
    expectTypeOf(context).toEqualTypeOf<Context>();
    return "";
  },
});
prompt({
  arguments: toStandardJsonSchema(v.object({ sku: v.string() })),
  get: ({ sku }) => sku,
});
prompt({
  arguments: type({ sku: "string", "tone?": "string" }),
  get: (args) => {
    expectTypeOf(args).toEqualTypeOf<{ sku: string; tone?: string }>();
    return "";
  },
});
prompt({
  arguments: { type: "object", properties: { sku: { type: "string" }, tone: { type: "string" } }, required: ["sku"] },
  get: (args) => {
    expectTypeOf(args).toEqualTypeOf<{ sku: string; tone?: string }>();
    return "";
  },
});
prompt({
  get: (args) => {
    expectTypeOf(args).toEqualTypeOf<{ [name: string]: unknown }>();
    return "";
  },
});

prompt({ get: async () => text("hi") });
prompt({ get: () => [{ role: "assistant", content: text("hi") }] });
prompt({ get: () => ({ messages: [{ role: "user", content: text("hi") }] }) });
// @ts-expect-error nobody has this role
prompt({ get: () => [{ role: "system", content: text("hi") }] });
// @ts-expect-error content is a block
prompt({ get: () => ({ role: "user", content: "hi" }) });
// @ts-expect-error a number is no prompt
prompt({ get: () => 7 });
// @ts-expect-error nothing is no prompt
prompt({ get: () => {} });
// @ts-expect-error get is not optional
prompt({ description: "D" });
prompt({
  arguments: z.object({ sku: z.string() }),
  // @ts-expect-error no such argument
  get: ({ id }) => id,
});
