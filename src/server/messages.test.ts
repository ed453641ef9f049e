import { describe, expect, it, vi } from "vitest";
import { connect } from "../connect/index.ts";
import type { JsonObject } from "../json/json.ts";
import { createCall } from "../protocol/service.ts";
import { LazyAbort } from "../std/lazy-abort.ts";
import { createServer } from "./server.ts";
import { tool } from "./tool.ts";

const all = { name: "s", version: "1", logging: true, experimental: { "com.example/doors": {} } };

describe("messages outside of calls", () => {
  it("reach clients with a session, and hide credentials", async () => {
    const server = createServer(all);
    const heard: unknown[] = [];
    await using _client = await connect(server, {
      revision: "2025-06-18",
      onLog: ({ level, data }) => void heard.push([level, data]),
      onNotification: ({ method, params }) => void heard.push([method, params]),
    });
    await vi.waitFor(() => {
      server.log("warning", { password: "hunter2", door: 1 });
      expect(heard.length).toBeGreaterThan(0);
    });
    expect(heard[0]).toEqual(["warning", { password: expect.not.stringContaining("hunter2"), door: 1 }]);
    server.notify("com.example/door", { open: true });
    await vi.waitFor(() => expect(heard.at(-1)).toMatchObject(["com.example/door", { open: true }]));
  });

  it("need the option that tells clients of them, and keep to what the protocol leaves to others", () => {
    const plain = createServer({ name: "s", version: "1" });
    expect(() => plain.log("info", "x")).toThrow("cannot send log messages: createServer needs logging: true");
    expect(() => plain.notify("com.example/x")).toThrow("createServer needs experimental");
    const server = createServer(all);
    expect(() => server.log("loud" as "info", "x")).toThrow("server.log: there is no level loud");
    expect(() => server.notify("notifications/message")).toThrow("server.notify cannot send notifications/message");
  });

  it("are not for subscriptions of clients without sessions, whatever these ask for", async () => {
    const server = createServer({ ...all, listChanged: true, tools: { t: tool({ run: () => "t" }) } });
    const told: string[] = [];
    const abort = new LazyAbort();
    const notifications: JsonObject = { toolsListChanged: true, messages: true };
    const call = createCall({
      method: "subscriptions/listen",
      params: { notifications },
      peer: { revision: "2026-07-28", capabilities: {} },
      meta: {},
      notify: (method) => void told.push(method),
      abort,
    });
    const listening = server(call as never);
    await vi.waitFor(() => expect(told).toEqual(["notifications/subscriptions/acknowledged"]));
    server.log("error", "secret");
    server.listChanged("tools");
    await vi.waitFor(() => expect(told).toContain("notifications/tools/list_changed"));
    expect(told).not.toContain("notifications/message");
    abort.abort("done");
    await listening;
  });
});
