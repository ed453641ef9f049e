import { expectTypeOf } from "vitest";
import type { Context } from "./context.ts";
import { resource } from "./resource.ts";

// Variables come from the template.
resource("stock://{sku}", {
  read: (variables, context) => {
    expectTypeOf(variables).toEqualTypeOf<{ readonly sku: string }>();
    expectTypeOf(context).toEqualTypeOf<Context>();
  },
});
resource("stock://{sku}{?page,tag*}", {
  read: (variables) =>
    expectTypeOf(variables).toEqualTypeOf<{
      readonly sku: string;
      readonly page?: string;
      readonly tag?: readonly string[];
    }>(),
});
resource("stock://all", {
  // @ts-expect-error a fixed resource has no variables
  read: ({ sku }) => sku,
});
resource("stock://{sku}", {
  // @ts-expect-error no such variable
  read: ({ id }) => id,
});

declare const anywhere: string;
resource(anywhere, {
  read: (variables) => expectTypeOf(variables.sku).toEqualTypeOf<string | readonly string[] | undefined>(),
});

// @ts-expect-error read is not optional
resource("stock://all", {});
resource("stock://{sku}", {
  read: () => "",
  complete: {
    sku: (value, { arguments: known, signal }) => {
      expectTypeOf(value).toEqualTypeOf<string>();
      expectTypeOf(known).toEqualTypeOf<Readonly<Record<string, string>>>();
      expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
      return [];
    },
  },
});
resource("stock://{sku}", {
  read: () => "",
  // @ts-expect-error a completer gives text
  complete: { sku: () => [1] },
});
resource("stock://{sku}", {
  read: () => "",
  // @ts-expect-error what is listed has a name
  list: () => [{ uri: "stock://a" }],
});
