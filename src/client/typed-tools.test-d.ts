import { expectTypeOf } from "vitest";
import type { ToolsOf, ToolTypes, Typed } from "../protocol/tool.ts";
import type { ToolCallOptions } from "./call-options.ts";
import type { Client } from "./client.ts";

interface Shop
  extends Typed<{
    readonly buy: {
      readonly input: { readonly sku: string; readonly qty: number };
      readonly output: { readonly order: string };
    };
    readonly find: { readonly input: { readonly text?: string }; readonly output: readonly string[] };
    readonly now: { readonly input: Record<never, never>; readonly output: string };
    readonly plain: { readonly input: unknown; readonly output: unknown };
  }> {
  readonly name: string;
}

declare const client: Client<ToolsOf<Shop>>;

expectTypeOf(client.tools.buy).toEqualTypeOf<
  (
    input: { readonly sku: string; readonly qty: number },
    options?: ToolCallOptions,
  ) => Promise<{ readonly order: string }>
>();
expectTypeOf(client.tools.find({})).resolves.toEqualTypeOf<readonly string[]>();
expectTypeOf(client.tools.find()).resolves.toEqualTypeOf<readonly string[]>();
expectTypeOf(client.tools.now()).resolves.toEqualTypeOf<string>();
expectTypeOf(client.tools.plain()).resolves.toEqualTypeOf<unknown>();

// @ts-expect-error an input with required members must be given
client.tools.buy();
// @ts-expect-error and all of them
client.tools.buy({ sku: "A" });
// @ts-expect-error of the right type
client.tools.buy({ sku: "A", qty: "1" });
// @ts-expect-error no such tool
client.tools.sell;
// @ts-expect-error tools are not assigned
client.tools.now = async () => "";

declare const anyClient: Client;
expectTypeOf<Client["tools"]>().toExtend<Readonly<Record<string, unknown>>>();
expectTypeOf(anyClient.tools.whatever).toExtend<
  ((input?: unknown, options?: ToolCallOptions) => Promise<unknown>) | undefined
>();
expectTypeOf<ToolsOf<{ readonly name: string }>>().toEqualTypeOf<ToolTypes>();

expectTypeOf(client.request("tools/list", {})).resolves.toHaveProperty("tools");
expectTypeOf(client.request("x/y", { a: 1 })).resolves.toHaveProperty("anything");
