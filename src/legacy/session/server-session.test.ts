import { describe, expect, it, vi } from "vitest";
import { hello, notification, request, serve, serveLegacy } from "../../../test/support/served.ts";
import type { JsonObject } from "../../json/json.ts";
import { newestLegacy, type Revision, revisions } from "../../protocol/revision.ts";
import type { Service } from "../../protocol/service.ts";
import { createServer, tool } from "../../server/index.ts";

const legacy = revisions.filter((revision) => revision !== "2026-07-28");

/** A server that counts how often its tool ran. */
function counting() {
  const run = vi.fn(() => "done");
  return { run, server: createServer({ name: "counting", version: "1", tools: { work: tool({ run }) } }) };
}

const { server: plain } = counting();
const talkative = createServer({
  name: "talkative",
  version: "1",
  logging: true,
  tools: {
    say: tool({
      run: (_, ctx) => {
        ctx.log("debug", "d");
        ctx.log("info", "i");
        ctx.log("warning", "w");
        return "said";
      },
    }),
  },
});

describe("the handshake", () => {
  it.each(legacy)("answers %s with itself", async (revision) => {
    const { client } = serve(plain);
    expect(await client.request("initialize", hello(revision))).toMatchObject({
      result: {
        protocolVersion: revision,
        capabilities: { tools: {} },
        serverInfo: { name: "counting", version: "1" },
      },
    });
  });

  it.each(["2030-01-01", "1.0", "", "2026-07-28"])(
    "C29: answers the version %j, which has no handshake here, with the newest that has one",
    async (version) => {
      const { client } = serve(plain);
      expect(await client.request("initialize", hello(version))).toMatchObject({
        result: { protocolVersion: newestLegacy },
      });
    },
  );

  it.each<[what: string, version: undefined | null | number | object]>([
    ["no version", undefined],
    ["null", null],
    ["a number", 20251125],
    ["an object", {}],
  ])("C29: refuses %s with -32602, and can be tried again", async (_what, protocolVersion) => {
    const { client } = serve(plain);
    const broken = { ...hello("2025-11-25"), protocolVersion } as ReturnType<typeof hello>;
    expect(await client.request("initialize", broken)).toMatchObject({ error: { code: -32602 } });
    expect(await client.request("initialize", hello("2025-11-25"))).toHaveProperty("result");
  });

  it("lets a client that was refused say it again (B3)", async () => {
    const { client } = serve(plain);
    expect(await client.request("initialize", { protocolVersion: "2024-11-05" })).toHaveProperty("error");
    expect(await client.request("initialize", hello("2024-11-05"))).toHaveProperty("result");
  });

  it("says nothing that only newer revisions say", async () => {
    const { client } = serve(createServer({ name: "n", version: "1", cache: { ttlMs: 5, scope: "public" } }));
    const { result } = await client.request("initialize", hello("2025-11-25"));
    expect(result).toEqual({
      protocolVersion: "2025-11-25",
      capabilities: {},
      serverInfo: { name: "n", version: "1" },
    });
  });

  it("may be pipelined with the first call", async () => {
    const { client } = serve(plain);
    client.say(
      request(1, "initialize", hello("2025-06-18")),
      notification("notifications/initialized"),
      request(2, "tools/call", { name: "work" }),
    );
    expect(await client.next()).toMatchObject({ id: 1, result: { protocolVersion: "2025-06-18" } });
    expect(await client.next()).toMatchObject({ id: 2, result: { content: [{ text: "done" }] } });
  });

  it("takes the bare `initialized` of the first clients", async () => {
    const { client } = serve(plain);
    await client.request("initialize", hello("2024-11-05"));
    client.notify("initialized");
    expect(await client.request("tools/list")).toHaveProperty("result.tools");
  });

  it("ignores a stray `initialized` before it", async () => {
    const { client, settled } = serve(plain);
    client.notify("notifications/initialized");
    await settled();
    expect(client.heard).toEqual([]);
    await client.request("initialize", hello("2025-11-25"));
    expect(await client.request("tools/list")).toMatchObject({ error: { code: -32600 } });
  });

  it("tells a failing service's failure, and can be tried again", async () => {
    let failing = true;
    const service: Service = async (call) =>
      failing && call.method === "server/discover"
        ? { kind: "failed", failure: { code: "internal", message: "not yet" } }
        : plain(call);
    const { client } = serve(service);
    expect(await client.request("initialize", hello("2025-11-25"))).toMatchObject({
      error: { code: -32603, message: "not yet" },
    });
    failing = false;
    expect(await client.request("initialize", hello("2025-11-25"))).toHaveProperty("result");
  });

  it("C42: masks what a service throws, and lives on", async () => {
    const said = vi.spyOn(console, "error").mockReturnValue();
    const { client } = serve(() => Promise.reject(new Error("/secret/path")));
    const answer = await client.request("initialize", hello("2025-11-25"));
    expect(answer).toMatchObject({ error: { code: -32603, message: "internal error" } });
    expect(said).toHaveBeenCalledOnce();
    said.mockRestore();
    expect(await client.request("ping")).toHaveProperty("result", {});
  });
});

describe("readiness", () => {
  it.each(["tools/call", "tools/list", "resources/subscribe", "logging/setLevel", "anything"])(
    "C26: %s is refused with -32600 before the handshake, and before the client says that it is ready",
    async (method) => {
      const { run, server } = counting();
      const { client } = serve(server);
      const refused = {
        error: { code: -32600, message: expect.stringMatching(/^not initialized: send initialize first/) },
      };
      expect(await client.request(method, { name: "work" })).toMatchObject(refused);
      await client.request("initialize", hello("2025-11-25"));
      expect(await client.request(method, { name: "work" })).toMatchObject(refused);
      expect(run).not.toHaveBeenCalled();
    },
  );

  it("C27: ping is answered with {} in every state", async () => {
    const { client, settled } = serve(plain);
    const ping = async () => (await client.request("ping")).result;
    expect(await ping()).toEqual({});
    await client.request("initialize", hello("2025-11-25"));
    expect(await ping()).toEqual({});
    client.notify("notifications/initialized");
    await settled();
    expect(await ping()).toEqual({});
  });

  it("C31: an unknown method is -32601, an unknown notification is ignored", async () => {
    const { client, settled } = await serveLegacy(plain);
    expect(await client.request("tools/steal")).toMatchObject({ error: { code: -32601 } });
    const before = client.heard.length;
    client.notify("notifications/whatever");
    await settled();
    expect(client.heard).toHaveLength(before);
  });

  it.each(["server/discover", "subscriptions/listen"])("%s does not exist for a legacy client", async (method) => {
    const { client } = await serveLegacy(plain);
    expect(await client.request(method, { notifications: {} })).toMatchObject({ error: { code: -32601 } });
  });
});

describe("logging/setLevel", () => {
  const call = { name: "say" };
  const logs = (heard: readonly JsonObject[]) =>
    heard.filter(({ method }) => method !== undefined).map(({ params }) => (params as JsonObject).data);

  it("C48: is -32601 for a server without logging", async () => {
    const { client } = await serveLegacy(plain);
    expect(await client.request("logging/setLevel", { level: "info" })).toMatchObject({ error: { code: -32601 } });
  });

  it.each(["loud", 3, null, undefined])(
    "C74: refuses the level %j with -32602, and keeps the old one",
    async (level) => {
      const { client } = await serveLegacy(talkative);
      await client.request("logging/setLevel", { level: "warning" });
      expect(await client.request("logging/setLevel", { level })).toMatchObject({ error: { code: -32602 } });
      await client.request("tools/call", call);
      expect(logs(client.heard)).toEqual(["w"]);
    },
  );

  it.each([
    [undefined, ["i", "w"]],
    ["debug", ["d", "i", "w"]],
    ["warning", ["w"]],
    ["emergency", []],
  ])("C74: at %j a client hears %j", async (level, expected) => {
    const { client } = await serveLegacy(talkative);
    if (level !== undefined) expect(await client.request("logging/setLevel", { level })).toMatchObject({ result: {} });
    expect(await client.request("tools/call", call)).toHaveProperty("result");
    expect(logs(client.heard)).toEqual(expected);
  });

  it("C74: is a matter of one session", async () => {
    const [quiet, noisy] = [await serveLegacy(talkative), await serveLegacy(talkative)];
    await quiet.client.request("logging/setLevel", { level: "error" });
    await Promise.all([quiet, noisy].map(({ client }) => client.request("tools/call", call)));
    expect(logs(quiet.client.heard)).toEqual([]);
    expect(logs(noisy.client.heard)).toEqual(["i", "w"]);
  });
});

describe("batches", () => {
  it("are taken on 2025-03-26: requests, notifications and rubbish together", async () => {
    const { client, settled } = await serveLegacy(plain, { revision: "2025-03-26" });
    client.say([
      request(1, "ping"),
      notification("notifications/whatever"),
      { jsonrpc: "2.0", id: 7 },
      request(2, "tools/call", { name: "work" }),
    ]);
    await settled();
    const answers = client.heard.slice(1);
    expect(answers).toHaveLength(3);
    expect(answers).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id: 1, result: {} }),
        expect.objectContaining({ id: 7, error: expect.objectContaining({ code: -32600 }) }),
        expect.objectContaining({ id: 2, result: expect.anything() }),
      ]),
    );
  });

  it("must not hold initialize", async () => {
    const { client, settled } = await serveLegacy(plain, { revision: "2025-03-26" });
    client.say([request(1, "ping"), request(2, "initialize", hello("2025-03-26"))]);
    await settled();
    expect(client.heard.slice(1)).toMatchObject([{ id: null, error: { code: -32600 } }]);
  });

  it.each<[what: string, revision: Revision | undefined]>([
    ["before the handshake", undefined],
    ["on 2024-11-05", "2024-11-05"],
    ["on 2025-06-18", "2025-06-18"],
    ["on 2025-11-25", "2025-11-25"],
  ])("C32: get exactly one -32600 %s, and the connection lives", async (_what, revision) => {
    const { client, settled } = revision === undefined ? serve(plain) : await serveLegacy(plain, { revision });
    const before = client.heard.length;
    client.say([request(1, "ping"), request(2, "ping"), notification("notifications/whatever")]);
    await settled();
    expect(client.heard.slice(before)).toMatchObject([{ id: null, error: { code: -32600 } }]);
    expect(await client.request("ping")).toHaveProperty("result");
  });

  it("C32: unparsable text gets exactly one -32700, and the connection lives", async () => {
    const { client, settled } = await serveLegacy(plain);
    const before = client.heard.length;
    client.say("{ this is no JSON");
    await settled();
    expect(client.heard.slice(before)).toMatchObject([{ id: null, error: { code: -32700 } }]);
    expect(await client.request("ping")).toHaveProperty("result");
  });
});
