import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Gateway } from "../../src/gateway/index.ts";
import type { HttpServeHandle } from "../../src/transport/node/serve-http.ts";
import { bearer, connect, createServer, openGateway, serveHttp, tool } from "./support/built.ts";
import { createLog } from "./support/events.ts";

// What the official SDKs cannot do at both ends: pages to open, tasks that ask, members that nobody knows.

const form = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] } as const;
const meta = { "example.com/known-to-nobody": { deep: [1, { two: null }] } };
const icons = [{ src: "https://example.com/icon.png", mimeType: "image/png" }];

const shop = createServer({
  name: "shop",
  version: "1.0.0",
  onError: () => {},
  extensions: { "example.com/clock": { precise: true } },
  methods: {
    "acme/time": (params) => ({ now: 1, zone: params.zone ?? "none" }),
  },
  tools: {
    page: tool({
      run: async (_, ctx) => {
        await ctx.askUrl("Please sign", "https://example.com/sign");
        return "You went there.";
      },
    }),
    job: tool({
      task: "required",
      run: async (_, ctx) => {
        ctx.progress(1, 2, "half");
        const { ok } = await ctx.ask("Go on?", form);
        return ok ? "done" : "stopped";
      },
    }),
    marked: tool({
      title: "Marked",
      icons,
      meta,
      annotations: { readOnlyHint: true, openWorldHint: false },
      run: (_, ctx) => ({ content: [{ type: "text", text: JSON.stringify(ctx.meta), _meta: meta }], _meta: meta }),
    }),
  },
});

let upstream: HttpServeHandle;
let gateway: Gateway;
let served: HttpServeHandle;

beforeAll(async () => {
  upstream = await serveHttp(shop, { port: 0 });
  gateway = await openGateway({
    older: { target: upstream.url, connectOptions: { revision: "2025-11-25" } },
    newest: { target: upstream.url, connectOptions: { revision: "2026-07-28" } },
  });
  served = await serveHttp(gateway, { port: 0, auth: bearer((token) => ({ principal: token })) });
  await gateway.settled();
});

afterAll(async () => {
  await served.close();
  await gateway.close();
  await upstream.close();
});

const fronts = ["2025-11-25", "2026-07-28"] as const;
const backs = ["older", "newest"] as const;
const cells = fronts.flatMap((front) => backs.map((back) => ({ front, back })));

describe.each(cells)("a client of $front by the gateway at a server that speaks $back", ({ front, back }) => {
  const headers = { authorization: "Bearer ann" };

  it("is sent to a page", async () => {
    const pages = createLog<string>();
    await using client = await connect(served.url, {
      headers,
      revision: front,
      onElicitUrl({ url }) {
        pages.add(String(url));
        return { action: "accept" };
      },
    });
    expect((await client.callTool(`${back}__page`)).content).toMatchObject([{ text: "You went there." }]);
    expect(pages.items).toEqual(["https://example.com/sign"]);
  });

  it("follows a task that asks", async () => {
    await using client = await connect(served.url, { headers, revision: front, onElicit: () => ({ ok: true }) });
    const task = await client.tasks.start(`${back}__job`);
    expect((await task.result()).content).toMatchObject([{ type: "text", text: "done" }]);
  });

  it("has a task followed for it where it knows none", async () => {
    const options = { headers, revision: front, tasks: false, onElicit: () => ({ ok: true }) };
    await using client = await connect(served.url, options);
    expect((await client.callTool(`${back}__job`)).content).toMatchObject([{ type: "text", text: "done" }]);
  });

  it("gets icons, annotations, `_meta` and members that nobody knows", async () => {
    await using client = await connect(served.url, { headers, revision: front });
    const listed = (await client.listTools()).find(({ name }) => name === `${back}__marked`);
    expect(listed).toMatchObject({
      title: "Marked",
      icons,
      annotations: { readOnlyHint: true, openWorldHint: false },
      _meta: meta,
    });
    const result = await client.callTool(`${back}__marked`, {}, { meta: { "example.com/mine": 1 } });
    expect(result).toMatchObject({ _meta: meta, content: [{ _meta: meta }] });
    expect(JSON.parse((result.content[0] as { text: string }).text)).toMatchObject({ "example.com/mine": 1 });
  });

  it("calls a method that only the server knows, in the view of that server", async () => {
    await using client = await connect(`${served.url}/${back}`, { headers, revision: front });
    expect(client.server.capabilities.extensions).toMatchObject({ "example.com/clock": { precise: true } });
    expect(await client.request("acme/time", { zone: "UTC" })).toMatchObject({ now: 1, zone: "UTC" });
    await expect(client.request("acme/nothing")).rejects.toMatchObject({ code: "method-not-found" });
    await using whole = await connect(served.url, { headers, revision: front });
    for (const method of ["acme/time", "toString", "tasks/list"])
      await expect(whole.request(method)).rejects.toMatchObject({ code: "method-not-found" });
  });

  it("is told that it cannot be asked, where it did not say that it can", async () => {
    await using client = await connect(served.url, { headers, revision: front });
    await expect(client.callTool(`${back}__page`)).rejects.toMatchObject({ code: "missing-capability" });
  });
});
