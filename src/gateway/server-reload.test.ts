import { afterEach, describe, expect, it } from "vitest";
import { connect } from "../connect/index.ts";
import { createServer, tool } from "../server/index.ts";
import { createManualClock } from "../testing/clock.ts";
import { type HttpServeHandle, serveHttp } from "../transport/node/serve-http.ts";
import { openGateway } from "./open-gateway.ts";

// Servers that are changed or removed while calls are under way there.

const revisions = ["2025-11-25", "2026-07-28"] as const;
type Revision = (typeof revisions)[number];

const schema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] } as const;

function createShop(name: string) {
  let begin = (): void => {};
  let finish = (): void => {};
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const shop = createServer({
    name: "shop",
    version: "1",
    stateKeys: ["0123456789abcdef".repeat(4)],
    tools: {
      who: tool({ run: () => name }),
      slow: tool({
        run: async () => {
          begin();
          await finished;
          return name;
        },
      }),
      ask: tool({ run: async (_, ctx) => `${name} has ${(await ctx.ask("Who?", schema)).name}` }),
    },
  });
  return { shop, begun, finish: () => finish() };
}

const served: HttpServeHandle[] = [];
afterEach(async () => {
  await Promise.all(served.splice(0).map((one) => one.close()));
});

/** A server at a URL, as an entry of a gateway that speaks a revision with it. */
async function serve(name: string, revision: Revision) {
  const { shop, ...control } = createShop(name);
  const serving = await serveHttp(shop, { port: 0, drainMs: 0 });
  served.push(serving);
  const sessions = (): number => serving.status().held.sessions;
  return { ...control, sessions, spec: { target: serving.url, connectOptions: { revision } } };
}

const pairs = revisions.flatMap((front) => revisions.map((back) => [front, back] as const));

describe.each(pairs)("a client of %s and a server of %s", (front, back) => {
  it("a call goes on at a server that is changed, and the next one goes to the new server", async () => {
    const [before, after] = [await serve("before", back), await serve("after", back)];
    await using gateway = await openGateway({ shop: before.spec });
    await using client = await connect(gateway, { revision: front, identity: { principal: "ann" } });
    const slow = client.callTool("shop__slow");
    await before.begun;
    const updated = gateway.update({ shop: after.spec });
    expect(await client.callTool("shop__who")).toMatchObject({ content: [{ text: "after" }] });
    before.finish();
    expect(await slow).toMatchObject({ content: [{ text: "before" }] });
    await updated;
    expect(before.sessions()).toBe(0);
    expect(await client.callTool("shop__who")).toMatchObject({ content: [{ text: "after" }] });
  });

  it("a call goes on at a server that is removed, which is closed then", async () => {
    const shop = await serve("shop", back);
    await using gateway = await openGateway({ shop: shop.spec });
    await using client = await connect(gateway, { revision: front, identity: { principal: "ann" } });
    const slow = client.callTool("shop__slow");
    await shop.begun;
    const removed = gateway.remove("shop");
    expect(gateway.servers()).toEqual([]);
    await expect(client.callTool("shop__who")).rejects.toMatchObject({ code: "invalid-params" });
    shop.finish();
    expect(await slow).toMatchObject({ content: [{ text: "shop" }] });
    expect(await removed).toBe(true);
    expect(shop.sessions()).toBe(0);
  });

  it("a call that waits for an answer goes on at the server that asked, after that was changed", async () => {
    const [before, after] = [await serve("before", back), await serve("after", back)];
    await using gateway = await openGateway({ shop: before.spec });
    let updated: Promise<void> | undefined;
    const onElicit = async () => {
      updated ??= gateway.update({ shop: after.spec });
      return { name: "Ada" };
    };
    await using client = await connect(gateway, { revision: front, identity: { principal: "ann" }, onElicit });
    // A server of 2026-07-28 keeps nothing for a call that asks: what was asked is answered to the new one.
    const asks = back === "2025-11-25" ? "before" : "after";
    expect(await client.callTool("shop__ask")).toMatchObject({ content: [{ text: `${asks} has Ada` }] });
    await updated;
    expect(before.sessions()).toBe(0);
  });

  it("connections that nobody uses are closed at once with their server", async () => {
    const shop = await serve("shop", back);
    await using gateway = await openGateway({ shop: shop.spec });
    await using client = await connect(gateway, { revision: front, identity: { principal: "ann" } });
    await client.callTool("shop__who");
    await gateway.remove("shop");
    expect(shop.sessions()).toBe(0);
    expect(gateway.status().servers).toEqual([]);
  });
});

it.each(revisions)("a call to a server of %s that takes too long fails when drainMs is over", async (back) => {
  const clock = createManualClock();
  const shop = await serve("shop", back);
  await using gateway = await openGateway({ shop: shop.spec }, { clock, drainMs: 1_000 });
  await using client = await connect(gateway, { identity: { principal: "ann" } });
  const slow = client.callTool("shop__slow").catch((error: unknown) => error);
  await shop.begun;
  const removed = gateway.remove("shop");
  await clock.advanceAsync(1_000);
  expect(await slow).toMatchObject({ code: "connection-closed", data: { safeToRetry: false } });
  await removed;
});

it("closes at once with its servers that are being replaced", async () => {
  const shop = await serve("shop", "2025-11-25");
  const gateway = await openGateway({ shop: shop.spec });
  const client = await connect(gateway, { identity: { principal: "ann" } });
  const slow = client.callTool("shop__slow").catch((error: unknown) => error);
  await shop.begun;
  const removed = gateway.remove("shop");
  await gateway.close();
  await removed;
  expect(await slow).toMatchObject({ code: "connection-closed" });
});
