import { describe, expect, it } from "vitest";
import { httpLegacy } from "../../../test/support/http-connected.ts";

describe("the stream of a server that beats", () => {
  it("is opened again when two and a half beats are missing", async () => {
    const { http, clock } = await httpLegacy();
    const stream = (await http.expect("GET")).stream();
    for (let beat = 0; beat < 3; beat++) {
      stream.raw(": alive\n\n");
      await clock.advanceAsync(10_000);
    }
    await clock.advanceAsync(14_999);
    expect(stream.discarded).toBe(false);
    await clock.advanceAsync(1);
    expect(stream.discarded).toBe(true);
    await clock.advanceAsync(250);
    expect(http.said().filter((method) => method === "GET")).toHaveLength(2);
  });

  it("lives on any sign of life", async () => {
    const { http, clock } = await httpLegacy();
    const stream = (await http.expect("GET")).stream();
    stream.raw(": alive\n\n");
    await clock.advanceAsync(10_000);
    stream.raw(": alive\n\n");
    for (let i = 0; i < 5; i++) {
      await clock.advanceAsync(20_000);
      stream.say({ jsonrpc: "2.0", method: "notifications/x", params: {} });
    }
    await clock.advanceAsync(20_000);
    expect(stream.discarded).toBe(false);
  });

  it.each([0, 1])("may be silent when it beats %i times", async (beats) => {
    const { http, clock } = await httpLegacy();
    const stream = (await http.expect("GET")).stream();
    for (let beat = 0; beat < beats; beat++) stream.raw(": alive\n\n");
    stream.say({ jsonrpc: "2.0", method: "notifications/x", params: {} });
    await clock.advanceAsync(3_600_000);
    expect(stream.discarded).toBe(false);
  });
});
