import { describe, expect, it, vi } from "vitest";
import { connected, opening, welcome } from "../../test/support/connected.ts";
import { gate } from "../../test/support/served.ts";
import type { Connection } from "../protocol/connection.ts";
import type { Service } from "../protocol/service.ts";
import { createServer, tool } from "../server/index.ts";
import { createManualClock } from "../testing/clock.ts";
import { createFakePeer, type FakePeer } from "../testing/fake-peer.ts";
import { connect, connectBy } from "./connect.ts";

const server = createServer({
  name: "s",
  version: "1",
  tools: { who: tool({ run: (_, { client: peer }) => `${peer.info?.name} ${peer.revision}` }) },
});

/** A server that takes its time to say what it is. */
function hesitant() {
  const { opened, open } = gate();
  const service: Service = async (call) => {
    if (call.method === "server/discover") await opened;
    return server(call);
  };
  return { service, open };
}

describe("connecting to a server in this process", () => {
  it("speaks the newest revision, in the name of this package", async () => {
    await using client = await connect(server);
    expect(await client.tools.who({})).toBe("plugbay 2026-07-28");
  });

  it.each(["2024-11-05", "2025-11-25"] as const)("speaks %s when told to, under another name", async (revision) => {
    await using client = await connect(server, { revision, info: { name: "me", version: "1" } });
    expect(client.revision).toBe(revision);
    expect(await client.tools.who({})).toBe(`me ${revision}`);
  });

  it("calls it by reference: nothing is copied", async () => {
    const given: unknown[] = [];
    const spy: Service = (call) => {
      given.push(call.params);
      return server(call);
    };
    await using client = await connect(spy);
    const args = { deep: { x: 1 } };
    await client.callTool("who", args);
    expect((given.at(-1) as { arguments: unknown }).arguments).toBe(args);
  });

  it.each([undefined, "2025-11-25"] as const)("ends without a reason when closed, on %s", async (revision) => {
    const client = await connect(server, revision === undefined ? {} : { revision });
    await client.close();
    await client.close();
    expect(await client.closed).toBeUndefined();
    await expect(client.callTool("who")).rejects.toMatchObject({ code: "connection-closed" });
  });

  it("fails with the failure of a server that does not say what it is", async () => {
    const failing = (async () => ({ kind: "failed", failure: { code: "internal", message: "down" } })) as Service;
    await expect(connect(failing)).rejects.toMatchObject({ code: "internal", message: "down" });
    await expect(connect(failing, { revision: "2025-11-25" })).rejects.toMatchObject({ message: "down" });
    const asking = (async () => ({ kind: "input-required", questions: {} })) as Service;
    await expect(connect(asking)).rejects.toMatchObject({ code: "invalid-response" });
  });
});

describe("a server that is defined badly", () => {
  const input = { type: "object", patternProperties: { "(a+)+$": {} } } as const;
  const bad = createServer({ name: "bad", version: "1", tools: { slow: tool({ input, run: () => "ran" }) } });

  it.each(["2024-11-05", "2025-11-25", "2026-07-28"] as const)("cannot be connected to on %s", async (revision) => {
    await expect(connect(bad, { revision })).rejects.toMatchObject({
      code: "invalid-definition",
      message: expect.stringMatching(
        /^tool slow: input is not a usable schema: #\/patternProperties\/\(a\+\)\+\$ cannot/,
      ),
    });
  });
});

describe("an attempt to connect", () => {
  it.each([undefined, "2025-11-25"] as const)("fails when it was cancelled before, on %s", async (revision) => {
    const signal = AbortSignal.abort("no");
    const failed = connect(server, { signal, ...(revision !== undefined && { revision }) });
    await expect(failed).rejects.toMatchObject({ code: "cancelled", cause: "no" });
  });

  it.each([undefined, "2025-11-25"] as const)("can be cancelled, on %s", async (revision) => {
    const abort = new AbortController();
    const { service } = hesitant();
    const options = { signal: abort.signal, ...(revision !== undefined && { revision }) };
    const failed = expect(connect(service, options)).rejects.toMatchObject({ code: "cancelled" });
    await Promise.resolve();
    abort.abort();
    await failed;
  });

  it.each([undefined, "2025-11-25"] as const)("ends in time, on %s", async (revision) => {
    const clock = createManualClock();
    const { service } = hesitant();
    const options = { clock, connectTimeoutMs: 1_000, ...(revision !== undefined && { revision }) };
    const failed = expect(connect(service, options)).rejects.toMatchObject({ code: "timeout" });
    await clock.advanceAsync(1_000);
    await failed;
  });

  it("leaves no timer behind", async () => {
    const clock = createManualClock();
    await using client = await connect(server, { clock });
    expect(client.revision).toBe("2026-07-28");
    expect(clock.pending).toBe(0);
  });

  it("takes as long as it takes when the limit is off", async () => {
    const clock = createManualClock();
    const { service, open } = hesitant();
    const connecting = connect(service, { clock, connectTimeoutMs: 0 });
    await clock.advanceAsync(1e9);
    open();
    await using client = await connecting;
    expect(client.server.serverInfo.name).toBe("s");
  });

  it("to a URL that does not answer fails, and names its origin only", async () => {
    const fetch = () => Promise.reject(new TypeError("fetch failed"));
    await expect(connect("https://x.example/mcp?key=secret", { fetch })).rejects.toMatchObject({
      code: "connection-closed",
      message: "no answer from https://x.example: fetch failed",
    });
  });

  it("to nowhere fails, and says why", async () => {
    await expect(connect("")).rejects.toMatchObject({ code: "invalid-params" });
  });
});

describe("connectBy", () => {
  it("tells whoever opens the connection who connects, and with what limits", async () => {
    const clock = createManualClock();
    const inProcess = await connectedTo();
    const open = vi.fn(async () => inProcess);
    const { signal } = new AbortController();
    const info = { name: "me", version: "2" };
    await connectBy(open, {
      clock,
      info,
      signal,
      revision: "2025-11-25",
      connectTimeoutMs: 5,
      roots: [],
      tasks: false,
    });
    expect(open).toHaveBeenCalledExactlyOnceWith({
      ...opening(clock, { info, revision: "2025-11-25", timeoutMs: 5 }),
      signal: expect.any(AbortSignal),
      capabilities: { roots: { listChanged: true } },
      answer: expect.any(Function),
      notified: expect.any(Function),
      warn: expect.any(Function),
      trying: expect.any(Function),
    });
  });

  it("opens nothing when the options are wrong", async () => {
    const open = vi.fn();
    await expect(connectBy(open, { roots: [{ uri: "http://not-a-file" }] })).rejects.toMatchObject({
      code: "invalid-params",
    });
    expect(open).not.toHaveBeenCalled();
  });

  it("C52: declares what the handlers imply in the handshake", async () => {
    const options = { onElicit: () => ({}), onSample: vi.fn(), roots: [] };
    const { server: peer } = await connected("2025-11-25", options);
    expect(peer.heard[0]).toMatchObject({
      method: "initialize",
      params: { capabilities: { elicitation: { form: {} }, sampling: {}, roots: { listChanged: true } } },
    });
  });
});

describe("connecting over a channel of one's own", () => {
  it("finds out what the server speaks, as soon as it is told to", async () => {
    const clock = createManualClock();
    const peer = createFakePeer();
    const connecting = connect(peer.channel, { clock, probeMs: 5 });
    await clock.advanceAsync(5);
    expect(peer.heard.map(({ method }) => method)).toEqual(["server/discover", "initialize"]);
    peer.reply(await peer.expect("initialize"), welcome("2025-03-26"));
    expect((await connecting).revision).toBe("2025-03-26");
  });
});

describe("who wants to hear log messages", () => {
  const setLevels = (peer: FakePeer) => peer.heard.filter(({ method }) => method === "logging/setLevel");

  it.each([
    [{}, "info"],
    [{ logLevel: "error" }, "error"],
  ] as const)("asks a legacy server for them once, with %j at %s", async (options, level) => {
    const { server: peer, settled } = await connected("2025-11-25", { onLog() {}, ...options });
    await settled();
    expect(setLevels(peer)).toMatchObject([{ params: { level } }]);
  });

  it.each<[who: string, ...Parameters<typeof connected>]>([
    ["who listens not at all", "2025-11-25", { logLevel: "debug" }],
    ["whose server has no logging", "2025-11-25", { onLog() {} }, { tools: {} }],
    ["whose server is told with every call", "2026-07-28", { onLog() {} }],
  ])("but not one %s", async (_who, ...given) => {
    const { server: peer, settled } = await connected(...given);
    await settled();
    expect(setLevels(peer)).toEqual([]);
  });

  it("is warned when the server refuses, and connected all the same", async () => {
    const onWarning = vi.fn();
    const { client, server: peer, settled } = await connected("2025-11-25", { onLog() {}, onWarning });
    peer.refuse(await peer.expect("logging/setLevel"), -32602, "no");
    await settled();
    expect(onWarning).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ kind: "not-honoured", message: "the server refuses log level info" }),
    );
    expect(client.revision).toBe("2025-11-25");
  });

  it("may throw at the warning without harm", async () => {
    const onWarning = () => {
      throw new Error("not now");
    };
    const { client, server: peer, settled } = await connected("2025-11-25", { onLog() {}, onWarning });
    peer.refuse(await peer.expect("logging/setLevel"), -32602, "no");
    await settled();
    expect(client.revision).toBe("2025-11-25");
  });

  it("is not warned when the connection ends before the server answers", async () => {
    const onWarning = vi.fn();
    const { client, settled } = await connected("2025-11-25", { onLog() {}, onWarning });
    await client.close();
    await settled();
    expect(onWarning).not.toHaveBeenCalled();
  });
});

async function connectedTo(): Promise<Connection> {
  const { service } = hesitant();
  return {
    service,
    revision: "2025-11-25",
    server: { supportedVersions: [], capabilities: {}, serverInfo: { name: "s", version: "1" } },
    peer: { revision: "2025-11-25", capabilities: {} },
    ended: new Promise(() => {}),
    close: async () => {},
  };
}
