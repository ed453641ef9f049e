import { expectTypeOf } from "vitest";
import type { ToolSource } from "../agent/tool-source.ts";
import type { Json } from "../json/json.ts";
import type { CallToolResult, ToolsOf, ToolTypes, Typed } from "../protocol/tool.ts";
import type { ToolCallOptions } from "./call-options.ts";
import type { Client } from "./client.ts";
import type { ToolCallResult } from "./typed-tools.ts";

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

// callTool knows the same names, and gives the whole result.
const bought = await client.callTool("buy", { sku: "A", qty: 1 }, { timeoutMs: 1 });
expectTypeOf(bought.content).toEqualTypeOf<CallToolResult["content"]>();
if (bought.isError !== true)
  expectTypeOf(bought.structuredContent).toEqualTypeOf<{ readonly order: string } | undefined>();
else expectTypeOf(bought.structuredContent).toEqualTypeOf<Json | undefined>();
expectTypeOf(client.callTool("find")).resolves.toEqualTypeOf<ToolCallResult<readonly string[]>>();
expectTypeOf(client.callTool("now", {})).resolves.toEqualTypeOf<ToolCallResult<string>>();
expectTypeOf(client.callTool("plain", { any: 1 })).resolves.toEqualTypeOf<CallToolResult>();
expectTypeOf(bought).toExtend<CallToolResult>();

// @ts-expect-error an input with required members must be given
client.callTool("buy");
// @ts-expect-error of the right type
client.callTool("buy", { sku: "A", qty: "1" });
// @ts-expect-error no such tool
client.callTool("sell", {});
declare const anyName: string;
// @ts-expect-error nor one that may be any
client.callTool(anyName, {});

declare const anyClient: Client;
expectTypeOf(anyClient.callTool(anyName)).resolves.toEqualTypeOf<CallToolResult>();
expectTypeOf(anyClient.callTool("x", { a: 1 }, { timeoutMs: 1 })).resolves.toEqualTypeOf<CallToolResult>();
declare const shop: Shop;
expectTypeOf(anyClient.callTool("x", shop)).resolves.toEqualTypeOf<CallToolResult>();
anyClient satisfies ToolSource;
client satisfies ToolSource;
client satisfies Client;
declare const withInterface: Client<{ readonly a: { readonly input: object; readonly output: Shop } }>;
withInterface satisfies ToolSource;
withInterface satisfies Client;
expectTypeOf<Client["tools"]>().toExtend<Readonly<Record<string, unknown>>>();
expectTypeOf(anyClient.tools.whatever).toExtend<
  ((input?: unknown, options?: ToolCallOptions) => Promise<unknown>) | undefined
>();
expectTypeOf<ToolsOf<{ readonly name: string }>>().toEqualTypeOf<ToolTypes>();

expectTypeOf(client.request("tools/list", {})).resolves.toHaveProperty("tools");
expectTypeOf(client.request("x/y", { a: 1 })).resolves.toHaveProperty("anything");
