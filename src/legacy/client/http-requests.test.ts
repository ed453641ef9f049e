import { describe, expect, it } from "vitest";
import { allCapabilities, welcome } from "../../../test/support/connected.ts";
import { httpLegacy } from "../../../test/support/http-connected.ts";

const text = (said: string) => ({ content: [{ type: "text", text: said }] });

describe("a request that is refused with 400", () => {
  it.each(["Bad Request: No valid session ID provided", "Bad Request: Server not initialized", "Session not found"])(
    "for %j, is sent again in a new session",
    async (message) => {
      const { http, client } = await httpLegacy();
      const result = client.callTool("a");
      (await http.expect("tools/call")).error(-32000, message, { status: 400, id: null });
      (await http.expect("initialize")).result(welcome("2025-11-25", allCapabilities), { "mcp-session-id": "s2" });
      (await http.expect("notifications/initialized")).reply(202);
      (await http.expect("GET")).reply(405);
      const again = await http.expect("tools/call");
      expect(again.headers["mcp-session-id"]).toBe("s2");
      again.result(text("ok"));
      expect(await result).toMatchObject(text("ok"));
    },
  );

  it("for another reason, fails with it", async () => {
    const { http, client } = await httpLegacy();
    const result = client.callTool("a");
    (await http.expect("tools/call")).error(-32602, "no such tool", { status: 400 });
    await expect(result).rejects.toMatchObject({ code: "invalid-params", message: "no such tool" });
    expect(http.said().filter((method) => method === "initialize")).toHaveLength(1);
  });

  it("for no reason, fails with that", async () => {
    const { http, client } = await httpLegacy();
    const result = client.callTool("a");
    (await http.expect("tools/call")).reply(400, {}, "no session for you");
    await expect(result).rejects.toMatchObject({ code: "http-error", data: { status: 400 } });
    expect(http.said().filter((method) => method === "initialize")).toHaveLength(1);
  });

  it("in the new session too, is not sent a third time", async () => {
    const { http, client } = await httpLegacy();
    const result = client.callTool("a");
    result.catch(() => {});
    const message = "Bad Request: No valid session ID provided";
    (await http.expect("tools/call")).error(-32000, message, { status: 400 });
    (await http.expect("initialize")).result(welcome("2025-11-25", allCapabilities), { "mcp-session-id": "s2" });
    (await http.expect("notifications/initialized")).reply(202);
    (await http.expect("GET")).reply(405);
    (await http.expect("tools/call")).error(-32000, message, { status: 400 });
    await expect(result).rejects.toMatchObject({ message });
  });
});

describe("the stream of the server that is refused with 400", () => {
  it("after an event that the server has forgotten, goes on without it", async () => {
    const { http, clock, warn } = await httpLegacy();
    const stream = (await http.expect("GET")).stream();
    stream.say({ jsonrpc: "2.0", method: "notifications/tools/list_changed" }, { id: "e1" });
    await stream.taken();
    stream.break();
    await clock.advanceAsync(250);
    const resumed = await http.expect("GET");
    expect(resumed.headers["last-event-id"]).toBe("e1");
    resumed.reply(400);
    const anew = await http.expect("GET");
    expect(anew.headers).not.toHaveProperty("last-event-id");
    anew.stream();
    expect(warn).not.toHaveBeenCalled();
  });

  it("though it was open before, is opened in a new session", async () => {
    const { http, clock, warn } = await httpLegacy();
    (await http.expect("GET")).stream().break();
    await clock.advanceAsync(250);
    (await http.expect("GET")).reply(400);
    (await http.expect("initialize")).result(welcome("2025-11-25", allCapabilities), { "mcp-session-id": "s2" });
    (await http.expect("notifications/initialized")).reply(202);
    expect((await http.expect("GET")).headers["mcp-session-id"]).toBe("s2");
    expect(warn).not.toHaveBeenCalled();
  });
});
