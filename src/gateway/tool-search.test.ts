import { describe, expect, it } from "vitest";
import { connect } from "../connect/connect.ts";
import { createServer, resource, tool } from "../server/index.ts";
import type { GatewayView } from "./gateway-view.ts";
import { type Gateway, openGateway } from "./open-gateway.ts";

const cache = { ttlMs: 30_000, scope: "public" } as const;

const office = createServer({
  name: "office",
  version: "1",
  cache,
  tools: {
    create_invoice: tool({ description: "Creates an invoice.", run: () => "an invoice" }),
    refresh: tool({ meta: { ui: { visibility: ["app"] } }, run: () => "refreshed" }),
    ask: tool({
      run: async (_, ctx) => {
        const { ok } = (await ctx.ask("Sure?", { type: "object", properties: { ok: { type: "boolean" } } })) as {
          ok?: boolean;
        };
        return ok === true ? "done" : "left";
      },
    }),
  },
  resources: [resource("office://plan", { read: () => "the plan" })],
});

const open = (search: GatewayView["search"]): Promise<Gateway> =>
  openGateway({ office }, { listTimeoutMs: 0, views: { it: { search }, plain: { servers: ["office"] } } });

const clientOf = (gateway: Gateway, view = "it", principal?: string) =>
  connect(gateway.views.get(view), {
    cache: false,
    onElicit: () => ({ ok: true }),
    ...(principal !== undefined && { identity: { principal } }),
  });

const textOf = ({ content: [first] }: { readonly content: readonly object[] }): unknown =>
  first !== undefined && "text" in first ? first.text : undefined;

describe("tool search", () => {
  it("lists two tools, which name the servers, and finds what the others do", async () => {
    await using gateway = await open(true);
    await using client = await clientOf(gateway);
    const [search, call, ...others] = await client.listTools();
    expect([search?.name, call?.name, others]).toEqual(["search_tools", "call_tool", []]);
    expect(search?.description).toContain("The tools are of these servers: office.");
    expect(textOf(await client.callTool("search_tools", { query: "invoice" }))).toContain(
      '"name":"office__create_invoice"',
    );
    expect(textOf(await client.callTool("search_tools", {}))).toBe(
      'search_tools needs "query", some words about what the tool should do.',
    );
  });

  it("leaves out tools that only user interfaces call, which can be called all the same", async () => {
    await using gateway = await open(true);
    await using client = await clientOf(gateway);
    expect(textOf(await client.callTool("search_tools", { query: "refresh" }))).toContain("No tool fits");
    expect(textOf(await client.callTool("refresh"))).toBe("refreshed");
  });

  it("asks for the tool that it calls", async () => {
    await using gateway = await open(true);
    await using client = await clientOf(gateway);
    expect(textOf(await client.callTool("call_tool", { name: "office__ask" }))).toBe("done");
    expect(textOf(await client.callTool("call_tool", { name: "office:ask", arguments: {} }))).toBe("done");
  });

  it.each([
    [{}, /call_tool needs "name"/],
    [{ name: "call_tool" }, /Call call_tool itself/],
    [{ name: "search_tools" }, /Call search_tools itself/],
    [{ name: "office__create_invoice", arguments: [] }, /must be an object/],
    [{ name: "office__create_invoice", sku: "A" }, /Put "sku" into "arguments"/],
    [{ name: "office__create_invoic" }, /did you mean office__create_invoice.*Find tools with search_tools/],
    [{ name: "nobody:tool" }, /there is no server "nobody".*Find tools with search_tools/],
  ])("tells a model what is wrong with %j", async (args, expected) => {
    await using gateway = await open(true);
    await using client = await clientOf(gateway);
    const result = await client.callTool("call_tool", args as never);
    expect(result.isError).toBe(true);
    expect(textOf(result)).toMatch(expected);
  });

  it("lists the tools themselves while they take few tokens", async () => {
    await using small = await open("auto");
    await using client = await clientOf(small);
    expect((await client.listTools()).map(({ name }) => name)).toContain("office__create_invoice");
    await expect(client.callTool("search_tools", { query: "invoice" })).rejects.toMatchObject({
      code: "invalid-params",
    });
    await using large = await open({ when: "auto", maxTokens: 10 });
    await using other = await clientOf(large);
    expect((await other.listTools()).map(({ name }) => name)).toEqual(["search_tools", "call_tool"]);
  });
});

describe("what may be kept of a view", () => {
  const hintsIn = async (gateway: Gateway, view: string, principal?: string) => {
    await using client = await clientOf(gateway, view, principal);
    for await (const { ttlMs, cacheScope } of client.pages("tools/list")) return { ttlMs, cacheScope };
    return undefined;
  };

  it.each(["it", "plain"])("is what its servers say, and private where the caller is known: %s", async (view) => {
    await using gateway = await open(true);
    const known = await hintsIn(gateway, view);
    expect(known?.cacheScope).toBe("public");
    expect(known?.ttlMs).toBeGreaterThan(0);
    expect(known?.ttlMs).toBeLessThanOrEqual(30_000);
    expect((await hintsIn(gateway, view, "ada"))?.cacheScope).toBe("private");
  });

  it("is nothing where one server says nothing, or is missing", async () => {
    await using gateway = await openGateway(
      { office, other: createServer({ name: "other", version: "1", tools: { a: tool({ run: () => "a" }) } }) },
      { listTimeoutMs: 0, views: { it: {} } },
    );
    expect(await hintsIn(gateway, "it")).toEqual({});
  });

  it("is for one reader alone where the reader is known", async () => {
    await using gateway = await open(false);
    await using anybody = await clientOf(gateway);
    expect(await anybody.readResource("office://plan")).toMatchObject({ ttlMs: 30_000, cacheScope: "public" });
    await using ada = await clientOf(gateway, "it", "ada");
    expect(await ada.readResource("office://plan")).toMatchObject({ ttlMs: 30_000, cacheScope: "private" });
  });
});
