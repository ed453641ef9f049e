import { expectTypeOf } from "vitest";
import type { ToolSource } from "../agent/tool-source.ts";
import type { ToolCallResult } from "../client/typed-tools.ts";
import type { CallToolResult } from "../protocol/tool.ts";
import { type Host, openHost } from "./index.ts";

/** As `plugbay/typegen` writes it. */
type HostTools = {
  readonly "shop:buy": { readonly input: { readonly sku: string }; readonly output: { readonly order: string } };
  readonly "shop:now": { readonly input: object; readonly output: unknown };
};

const host = await openHost<HostTools>("mcp.json");

expectTypeOf(host).toEqualTypeOf<Host<HostTools>>();
expectTypeOf(host.tools["shop:buy"]({ sku: "A" })).resolves.toEqualTypeOf<{ readonly order: string }>();
expectTypeOf(host.tools["shop:now"]()).resolves.toEqualTypeOf<unknown>();
expectTypeOf(host.callTool("shop:buy", { sku: "A" })).resolves.toEqualTypeOf<
  ToolCallResult<{ readonly order: string }>
>();
expectTypeOf(host.callTool("shop:now")).resolves.toEqualTypeOf<CallToolResult>();
host satisfies ToolSource;
host satisfies Host;

// @ts-expect-error no such tool
host.tools["shop:by"];
// @ts-expect-error no such tool
host.callTool("shop:by", {});
// @ts-expect-error a member is missing
host.callTool("shop:buy", {});
// @ts-expect-error of another type
host.tools["shop:buy"]({ sku: 1 });

const untyped = await openHost("mcp.json");
expectTypeOf(untyped).toEqualTypeOf<Host>();
expectTypeOf(untyped.callTool("any:name", { a: 1 })).resolves.toEqualTypeOf<CallToolResult>();
expectTypeOf(await untyped.tools["any:name"]?.({ a: 1 })).toEqualTypeOf<unknown>();
