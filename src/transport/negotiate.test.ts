import { describe, expect, it } from "vitest";
import { discovered, opening, welcome } from "../../test/support/connected.ts";
import type { JsonObject } from "../json/json.ts";
import type { Connection, Opening } from "../protocol/connection.ts";
import { metaKeys } from "../protocol/meta.ts";
import { createManualClock } from "../testing/clock.ts";
import { createFakePeer } from "../testing/fake-peer.ts";
import type { NegotiateOptions } from "./negotiate.ts";
import { openChannel } from "./open-channel.ts";

/** A client that is connecting to a server which does what the test says. */
function connecting(changes: Partial<Opening> = {}, options?: NegotiateOptions) {
  const clock = createManualClock();
  const server = createFakePeer();
  const connected: Promise<Connection> = openChannel(server.channel, opening(clock, changes), options);
  connected.catch(() => {});
  const methods = () => server.heard.map(({ method }) => method);
  return { clock, server, connected, methods, settled: () => clock.advanceAsync(0) };
}

describe("a server that is asked what it is", () => {
  it("and answers, is modern: nothing else is sent", async () => {
    const { server, connected, methods } = connecting();
    const probe = await server.expect("server/discover");
    expect(probe.params).toEqual({
      _meta: {
        [metaKeys.protocolVersion]: "2026-07-28",
        [metaKeys.clientCapabilities]: {},
        [metaKeys.clientInfo]: { name: "tester", version: "1" },
      },
    });
    server.reply(probe, discovered());
    expect(await connected).toMatchObject({ revision: "2026-07-28", server: { supportedVersions: ["2026-07-28"] } });
    expect(methods()).toEqual(["server/discover"]);
  });

  it("and answers, leaves no timer for the probe behind", async () => {
    const { clock, server, connected } = connecting({ timeoutMs: 1_000 }, { probeMs: 60_000 });
    server.reply(await server.expect("server/discover"), discovered());
    await connected;
    await clock.advanceAsync(1_000);
    expect(clock.pending).toBe(0);
  });

  it.each([-32601, -32602, -32600, -32000, -32603, -32002, 0, 404])(
    "and answers with the error %i, is legacy: it is greeted on the same channel",
    async (code) => {
      const { server, connected, methods } = connecting();
      server.refuse(await server.expect("server/discover"), code, "what?");
      const greeting = await server.expect("initialize");
      expect(greeting.params).toEqual({
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo: { name: "tester", version: "1" },
      });
      server.reply(greeting, welcome("2025-06-18"));
      expect(await connected).toMatchObject({ revision: "2025-06-18", server: { serverInfo: { name: "fake" } } });
      expect(methods()).toEqual(["server/discover", "initialize", "notifications/initialized"]);
    },
  );

  it("and speaks only older revisions, is greeted with the newest of them", async () => {
    const { server, connected } = connecting();
    server.reply(await server.expect("server/discover"), discovered(["2024-11-05", "2025-06-18", "2020-01-01"]));
    const greeting = await server.expect("initialize");
    expect(greeting.params).toMatchObject({ protocolVersion: "2025-06-18" });
    server.reply(greeting, welcome("2025-06-18"));
    expect(await connected).toMatchObject({ revision: "2025-06-18" });
  });

  it("and speaks nothing that we do, is left", async () => {
    const { server, connected, methods } = connecting();
    server.reply(await server.expect("server/discover"), discovered(["2031-01-01", "2032-01-01"]));
    await expect(connected).rejects.toMatchObject({
      code: "unsupported-revision",
      message: expect.stringContaining("2031-01-01, 2032-01-01"),
      data: { supported: ["2031-01-01", "2032-01-01"] },
    });
    expect(methods()).toEqual(["server/discover"]);
  });

  const unlike = [
    ["nothing", {}],
    ["no versions", { capabilities: {} }],
    ["versions that are no texts", { ...discovered(), supportedVersions: [1] }],
    ["questions", { resultType: "input_required", inputRequests: {}, requestState: "x" }],
    ["what nobody knows", { ...discovered(), resultType: "poem" }],
  ] as const;

  it.each(unlike)("and answers with %s, is legacy (I3)", async (_what, result) => {
    const { server, connected, methods } = connecting();
    server.reply(await server.expect("server/discover"), result as JsonObject);
    server.reply(await server.expect("initialize"), welcome("2025-11-25"));
    expect(await connected).toMatchObject({ revision: "2025-11-25" });
    expect(methods()).toEqual(["server/discover", "initialize", "notifications/initialized"]);
  });

  it.each(unlike)("and answers late with %s, is legacy (I3)", async (_what, result) => {
    const { clock, server, connected } = connecting();
    const probe = await server.expect("server/discover");
    await clock.advanceAsync(3_000);
    server.reply(probe, result as JsonObject);
    server.reply(await server.expect("initialize"), welcome("2025-11-25"));
    expect(await connected).toMatchObject({ revision: "2025-11-25" });
  });

  it.each(unlike)("and answers with %s where 2026-07-28 is asked for, is broken", async (_what, result) => {
    const { server, connected } = connecting({ revision: "2026-07-28" });
    server.reply(await server.expect("server/discover"), result as JsonObject);
    await expect(connected).rejects.toMatchObject({ code: "invalid-response" });
  });
});

describe("a server that answers as only modern servers do", () => {
  const unsupported = (supported: readonly string[]) => ({ supported, requested: "2026-07-28" });

  it("-32022 with our version among its own is asked once more, and never greeted", async () => {
    const { server, connected, methods } = connecting();
    server.refuse(await server.expect("server/discover"), -32022, "?", unsupported(["2030-01-01", "2026-07-28"]));
    server.reply(await server.expect("server/discover"), discovered());
    expect(await connected).toMatchObject({ revision: "2026-07-28" });
    expect(methods()).toEqual(["server/discover", "server/discover"]);
  });

  it("-32022 twice is the end", async () => {
    const { server, connected, methods } = connecting();
    for (let i = 0; i < 2; i++) {
      server.refuse(await server.expect("server/discover"), -32022, "?", unsupported(["2026-07-28"]));
    }
    await expect(connected).rejects.toMatchObject({ code: "unsupported-revision" });
    expect(methods()).toEqual(["server/discover", "server/discover"]);
  });

  it.each([[["2030-01-01"]], [[]], [["1.0", "draft"]]])(
    "-32022 with %j, which we do not speak, is the end",
    async (supported) => {
      const { server, connected, methods } = connecting();
      server.refuse(await server.expect("server/discover"), -32022, "unsupported", unsupported(supported));
      await expect(connected).rejects.toMatchObject({ code: "unsupported-revision", data: { supported } });
      expect(methods()).toEqual(["server/discover"]);
    },
  );

  it("-32022 without data is the end", async () => {
    const { server, connected } = connecting();
    server.refuse(await server.expect("server/discover"), -32022, "unsupported");
    await expect(connected).rejects.toMatchObject({ code: "unsupported-revision" });
  });

  it("-32022 with nothing but older versions leads to the handshake of the newest of them", async () => {
    const { server, connected } = connecting();
    server.refuse(await server.expect("server/discover"), -32022, "?", unsupported(["2024-11-05", "2025-03-26"]));
    const greeting = await server.expect("initialize");
    expect(greeting.params).toMatchObject({ protocolVersion: "2025-03-26" });
    server.reply(greeting, welcome("2025-03-26"));
    expect(await connected).toMatchObject({ revision: "2025-03-26" });
  });

  it.each([
    [-32020, "header-mismatch"],
    [-32021, "missing-capability"],
  ])("%i is the end: %s", async (number, code) => {
    const { server, connected, methods } = connecting();
    server.refuse(await server.expect("server/discover"), number, "no");
    await expect(connected).rejects.toMatchObject({ code });
    expect(methods()).toEqual(["server/discover"]);
  });
});

describe("a server that stays silent", () => {
  it.each([
    [undefined, 3_000],
    [100, 100],
  ])("is greeted after the probe, with probeMs %s after %i ms", async (probeMs, ms) => {
    const { clock, server, connected, methods } = connecting({}, probeMs === undefined ? {} : { probeMs });
    await clock.advanceAsync(ms - 1);
    expect(methods()).toEqual(["server/discover"]);
    await clock.advanceAsync(1);
    server.reply(await server.expect("initialize"), welcome("2025-11-25"));
    expect(await connected).toMatchObject({ revision: "2025-11-25" });
    expect(methods()).toEqual(["server/discover", "initialize", "notifications/initialized"]);
  });

  /** Both openings have been sent, and the first is answered. */
  const answeredLate = async (changes: Partial<Opening> = {}) => {
    const { clock, server, connected, ...rest } = connecting(changes);
    const probe = await server.expect("server/discover");
    await clock.advanceAsync(3_000);
    const greeting = await server.expect("initialize");
    server.reply(probe, discovered());
    return { clock, server, connected, greeting, ...rest };
  };

  it("and answers late after all, is modern if it refuses the greeting", async () => {
    const { server, connected, greeting, methods, settled } = await answeredLate();
    server.refuse(greeting, -32601, "no such method");
    expect(await connected).toMatchObject({ revision: "2026-07-28" });
    expect(methods()).toEqual(["server/discover", "initialize"]);
    server.say({ jsonrpc: "2.0", id: "theirs", method: "ping" });
    await settled();
    expect(methods()).toEqual(["server/discover", "initialize"]);
  });

  it("and answers late after all, is modern if it says nothing to the greeting", async () => {
    const { clock, server, connected, greeting, methods, settled } = await answeredLate();
    await clock.advanceAsync(3_000);
    expect(await connected).toMatchObject({ revision: "2026-07-28" });
    server.reply(greeting, welcome("2025-11-25"));
    await settled();
    expect(methods()).toEqual(["server/discover", "initialize"]);
    server.say({ jsonrpc: "2.0", id: "theirs", method: "ping" });
    await settled();
    expect(methods()).toEqual(["server/discover", "initialize"]);
  });

  it("and takes both openings, is legacy if it knows the first no more", async () => {
    const { server, connected, greeting, methods } = await answeredLate();
    server.reply(greeting, welcome("2025-11-25"));
    server.refuse(await server.expect("server/discover"), -32601, "no such method");
    expect(await connected).toMatchObject({ revision: "2025-11-25" });
    expect(methods()).toEqual(["server/discover", "initialize", "server/discover", "notifications/initialized"]);
  });

  it("and takes both openings, is legacy if it does not answer the first any more", async () => {
    const { clock, server, connected, greeting } = await answeredLate({ timeoutMs: 10_000 });
    server.reply(greeting, welcome("2025-11-25"));
    await server.expect("server/discover");
    await clock.advanceAsync(10_000);
    expect(await connected).toMatchObject({ revision: "2025-11-25" });
  });

  it("and takes both openings, is legacy if it speaks only older revisions: it is greeted once", async () => {
    const { server, connected, greeting, methods } = await answeredLate();
    server.reply(greeting, welcome("2025-06-18"));
    server.reply(await server.expect("server/discover"), discovered(["2025-06-18"]));
    expect(await connected).toMatchObject({ revision: "2025-06-18" });
    expect(methods().filter((method) => method === "initialize")).toHaveLength(1);
  });

  it("and takes both openings, is modern if it still knows the first", async () => {
    const { server, connected, greeting, methods } = await answeredLate();
    server.reply(greeting, welcome("2025-11-25"));
    server.reply(await server.expect("server/discover"), discovered());
    expect(await connected).toMatchObject({ revision: "2026-07-28" });
    expect(methods()).toEqual(["server/discover", "initialize", "server/discover"]);
  });

  it("and refuses the greeting, may still answer", async () => {
    const { clock, server, connected } = connecting();
    const probe = await server.expect("server/discover");
    await clock.advanceAsync(3_000);
    server.refuse(await server.expect("initialize"), -32601, "no such method");
    await clock.advanceAsync(20_000);
    server.reply(probe, discovered());
    expect(await connected).toMatchObject({ revision: "2026-07-28" });
  });

  it("and then says that it is modern in its own way, is asked once more", async () => {
    const { clock, server, connected } = connecting();
    const probe = await server.expect("server/discover");
    await clock.advanceAsync(3_000);
    server.refuse(await server.expect("initialize"), -32601, "no such method");
    server.refuse(probe, -32022, "?", { supported: ["2026-07-28"], requested: "2026-07-28" });
    server.reply(await server.expect("server/discover"), discovered());
    expect(await connected).toMatchObject({ revision: "2026-07-28" });
  });

  it("and refuses the probe late, is waited for as a legacy server", async () => {
    const { clock, server, connected } = connecting();
    const probe = await server.expect("server/discover");
    await clock.advanceAsync(3_000);
    const greeting = await server.expect("initialize");
    server.refuse(probe, -32601, "what?");
    await clock.advanceAsync(10_000);
    server.reply(greeting, welcome("2025-11-25"));
    expect(await connected).toMatchObject({ revision: "2025-11-25" });
  });

  it("and refuses both, fails with what it said to the greeting", async () => {
    const { clock, server, connected } = connecting();
    const probe = await server.expect("server/discover");
    await clock.advanceAsync(3_000);
    server.refuse(probe, -32601, "what?");
    server.refuse(await server.expect("initialize"), -32000, "go away");
    await expect(connected).rejects.toMatchObject({ code: "application", message: "go away" });
  });

  it("for longer than a step may take, is greeted all the same", async () => {
    const { clock, server, connected } = connecting({ timeoutMs: 1_000 });
    await clock.advanceAsync(1_000);
    server.reply(await server.expect("initialize"), welcome("2025-11-25"));
    expect(await connected).toMatchObject({ revision: "2025-11-25" });
  });

  it("for ever, is given up; C9: without a cancellation", async () => {
    const { clock, connected, methods } = connecting({ timeoutMs: 10_000 });
    await clock.advanceAsync(12_999);
    expect(methods()).toEqual(["server/discover", "initialize"]);
    await clock.advanceAsync(1);
    await expect(connected).rejects.toMatchObject({
      code: "timeout",
      message: "no response to initialize within 10000 ms",
    });
    expect(methods()).toEqual(["server/discover", "initialize"]);
    expect(clock.pending).toBe(0);
  });
});

describe("a revision that was asked for", () => {
  it.each(["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] as const)(
    "%s is not probed for",
    async (revision) => {
      const { server, connected, methods } = connecting({ revision });
      const greeting = await server.expect("initialize");
      expect(greeting.params).toMatchObject({ protocolVersion: revision });
      server.reply(greeting, welcome(revision));
      expect(await connected).toMatchObject({ revision });
      expect(methods()).toEqual(["initialize", "notifications/initialized"]);
    },
  );

  it("2026-07-28 is never given up for an older one", async () => {
    const revision = "2026-07-28";
    const refused = connecting({ revision });
    refused.server.refuse(await refused.server.expect("server/discover"), -32601, "what?");
    await expect(refused.connected).rejects.toMatchObject({ code: "method-not-found" });
    const older = connecting({ revision });
    older.server.reply(await older.server.expect("server/discover"), discovered(["2025-11-25"]));
    await expect(older.connected).rejects.toMatchObject({
      code: "unsupported-revision",
      message: "the server speaks 2025-11-25, and 2026-07-28 was asked for",
    });
    const silent = connecting({ revision, timeoutMs: 5_000 });
    await silent.clock.advanceAsync(5_000);
    await expect(silent.connected).rejects.toMatchObject({ code: "timeout" });
    for (const { methods } of [refused, older, silent]) expect(methods()).toEqual(["server/discover"]);
  });

  it("is not given up for another that the server likes better", async () => {
    const { server, connected } = connecting({ revision: "2025-11-25" });
    server.reply(await server.expect("initialize"), welcome("2025-06-18"));
    await expect(connected).rejects.toMatchObject({ code: "unsupported-revision" });
  });
});

describe("the handshake", () => {
  it.each(["1.0", "2030-01-01", "2026-07-28", "", 3, null])(
    "C4 row 4: answered with the version %j, which has none here, is an error, and the channel is closed",
    async (version) => {
      const { server, connected, methods } = connecting({}, { era: "legacy" });
      server.reply(await server.expect("initialize"), { ...welcome("x"), protocolVersion: version });
      await expect(connected).rejects.toMatchObject({ code: "unsupported-revision" });
      await expect(server.next()).rejects.toThrow("the channel was closed");
      expect(methods()).toEqual(["initialize"]);
    },
  );

  it("refused, is an error, and the channel is closed", async () => {
    const { server, connected } = connecting({}, { era: "legacy" });
    server.refuse(await server.expect("initialize"), -32603, "out of order");
    await expect(connected).rejects.toMatchObject({ code: "internal", message: "out of order" });
    await expect(server.next()).rejects.toThrow("the channel was closed");
  });

  it("takes a server that says nothing of itself", async () => {
    const { server, connected } = connecting({}, { era: "legacy" });
    server.reply(await server.expect("initialize"), { protocolVersion: "2024-11-05" });
    expect(await connected).toMatchObject({ revision: "2024-11-05", server: { capabilities: {} } });
  });

  it("declares only what the revision has", async () => {
    const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: { listChanged: true } };
    const { server } = connecting({ revision: "2025-03-26", capabilities });
    expect((await server.expect("initialize")).params).toMatchObject({
      capabilities: { sampling: {}, roots: { listChanged: true } },
    });
  });
});

describe("an era that is remembered", () => {
  it("saves a legacy server the probe", async () => {
    const { server, connected, methods } = connecting({}, { era: "legacy" });
    server.reply(await server.expect("initialize"), welcome("2025-11-25"));
    await connected;
    expect(methods()).toEqual(["initialize", "notifications/initialized"]);
  });

  it("does not keep a server that was modern from having become legacy", async () => {
    const { server, connected } = connecting({}, { era: "modern" });
    server.refuse(await server.expect("server/discover"), -32601, "what?");
    server.reply(await server.expect("initialize"), welcome("2025-11-25"));
    expect(await connected).toMatchObject({ revision: "2025-11-25" });
  });
});

describe("a channel on which every request has an answer of its own", () => {
  it("never takes silence for an answer", async () => {
    const { clock, server, methods } = connecting({ timeoutMs: 0 }, { probeMs: Number.POSITIVE_INFINITY });
    await server.expect("server/discover");
    await clock.advanceAsync(3_600_000);
    expect(methods()).toEqual(["server/discover"]);
  });

  it("has the last word on which answers show a legacy server", async () => {
    const { server, connected, methods } = connecting({}, { isLegacy: () => false });
    server.refuse(await server.expect("server/discover"), -32000, "who are you?");
    await expect(connected).rejects.toMatchObject({ message: "who are you?" });
    expect(methods()).toEqual(["server/discover"]);
  });
});

describe("a server that is greeted", () => {
  it("and refuses the revision, is asked for the newest of those that it names", async () => {
    const { server, connected } = connecting({}, { era: "legacy" });
    const data = { supported: ["2024-11-05", "2025-03-26"], requested: "2025-11-25" };
    server.refuse(await server.expect("initialize"), -32602, "Unsupported protocol version", data);
    const greeting = await server.expect("initialize");
    expect(greeting.params).toMatchObject({ protocolVersion: "2025-03-26" });
    server.reply(greeting, welcome("2025-03-26"));
    expect(await connected).toMatchObject({ revision: "2025-03-26" });
  });

  it.each([[["2025-11-25"]], [["2026-07-28"]], [[]]])("and names %j instead, is left", async (supported) => {
    const { server, connected, methods } = connecting({}, { era: "legacy" });
    server.refuse(await server.expect("initialize"), -32602, "Unsupported protocol version", { supported });
    await expect(connected).rejects.toMatchObject({ code: "invalid-params" });
    expect(methods()).toEqual(["initialize"]);
  });

  it("and names other revisions where one is asked for, is left", async () => {
    const { server, connected } = connecting({ revision: "2025-06-18" });
    const data = { supported: ["2024-11-05"] };
    server.refuse(await server.expect("initialize"), -32602, "Unsupported protocol version", data);
    await expect(connected).rejects.toMatchObject({ code: "invalid-params" });
  });

  it("and says what was said before 2024-11-05 was final, speaks 2024-11-05", async () => {
    const { server, connected } = connecting({}, { era: "legacy" });
    server.reply(await server.expect("initialize"), welcome("2024-10-07"));
    expect(await connected).toMatchObject({ revision: "2024-11-05" });
  });
});
