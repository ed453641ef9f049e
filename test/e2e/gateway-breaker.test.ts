import { describe, expect, it } from "vitest";
import { bearer, connect, openGateway, serveHttp } from "./support/built.ts";
import { script } from "./support/places.ts";

// Users of a gateway, one of whom ends the program of a server again and again.

const auth = bearer((token) => ({ principal: token }));
const server = script("test/fixtures/children/dying-server.mjs");

describe.each(["2025-11-25", "2026-07-28"] as const)("at a gateway, clients of %s", (revision) => {
  it("are refused only over the connections that do not answer, and told when to retry", async () => {
    await using gateway = await openGateway({ d: server }, { upstreamSessions: "per-caller" });
    await using serving = await serveHttp(gateway, { port: 0, auth });
    const open = (user: string) => connect(serving.url, { revision, headers: { authorization: `Bearer ${user}` } });
    await using ann = await open("ann");
    await using eve = await open("eve");
    const live = [{ type: "text", text: "alive" }];
    expect((await ann.callTool("d__live")).content).toEqual(live);
    for (let n = 0; n < 5; n++)
      await expect(eve.callTool("d__die")).rejects.toMatchObject({
        code: "connection-closed",
        message: expect.stringContaining("was lost before it answered"),
        data: { safeToRetry: false },
      });
    const refused = await eve.callTool("d__live").catch((error: unknown) => error);
    expect(refused).toMatchObject({
      code: "connection-closed",
      message: expect.stringContaining("the call was not sent to server d"),
      data: { server: "d", safeToRetry: true },
    });
    const { retryAfterMs } = (refused as { data: { retryAfterMs: number } }).data;
    expect(Number.isInteger(retryAfterMs) && retryAfterMs > 0 && retryAfterMs <= 10_000).toBe(true);
    expect((await ann.callTool("d__live")).content).toEqual(live);
    expect(gateway.status().servers).toMatchObject([{ name: "d", state: "ready" }]);
    expect(gateway.status().isDegraded).toBe(false);
  });
});
