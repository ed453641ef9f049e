import { describe, expect, it } from "vitest";
import type { Host } from "../../src/host/index.ts";
import { createManualClock } from "../../src/testing/clock.ts";
import { script as child, isRunning, until } from "../fixtures/children/processes.ts";
import { connect, openHost } from "./support/built.ts";

// Servers that are slow or say nothing, among others that work. The clock is the test's, the servers are real.

/** A child that says nothing but its number, to stderr. */
function silent(...manners: readonly string[]) {
  let said = "";
  const stderr = (text: string): void => {
    said += text;
  };
  const pids = () => [...said.matchAll(/pid (\d+)/g)].map(([, pid]) => Number(pid));
  return { command: { ...child("mute-server.mjs", "silent", ...manners), stderr }, pids };
}

const works = child("upstream.mjs", "name=works");

/** The lists of a host. */
const everyList = ["listTools", "listResources", "listResourceTemplates", "listPrompts", "listInstructions"] as const;

const isReady = (host: Host, name: string) => () =>
  host.servers().find((server) => server.name === name)?.state === "ready";

describe("a server that does not answer", () => {
  it("is missing from lists after a while, and is not waited for again (P4, C137)", async () => {
    const clock = createManualClock();
    await using host = await openHost({ silent: silent().command, works }, { clock });
    for (const list of everyList) await host[list]({ server: "works" });
    const first = host.listTools();
    await clock.advanceAsync(4_999);
    expect(await Promise.race([first, "not yet"])).toBe("not yet");
    await clock.advanceAsync(1);
    const tools = await first;
    expect(new Set(tools.map(({ server }) => server))).toEqual(new Set(["works"]));
    expect(tools.missing).toEqual([
      {
        server: "silent",
        reason: {
          code: "timeout",
          message: expect.stringMatching(/^server silent did not answer within 5000 ms \(connecting\).*listTimeoutMs/),
          data: { listTimeoutMs: 5_000 },
        },
        hint: expect.any(String),
      },
    ]);
    for (const list of everyList) {
      const listed = host[list]();
      await clock.advanceAsync(0);
      expect((await listed).missing.map(({ server }) => server)).toEqual(["silent"]);
    }
    expect(host.servers()[0]).toMatchObject({ state: "connecting" });
  });

  it("to a request for a list is missing from that list, and is in it once it has (P4, C137)", async () => {
    const clock = createManualClock();
    const halting = child("halting-server.mjs");
    await using host = await openHost({ halting, works }, { clock });
    await host.listTools({ server: "works" });
    await until(isReady(host, "halting"));
    const first = host.listTools();
    await clock.advanceAsync(5_000);
    expect((await first).missing).toMatchObject([
      { server: "halting", reason: { code: "timeout", message: expect.stringContaining("its tools") } },
    ]);
    await host.callTool("halting:go");
    const tools = await host.listTools();
    expect(tools.missing).toEqual([]);
    expect(tools.map(({ name }) => name)).toContain("halting:go");
  });

  it("is waited for where the host says so (P4)", async () => {
    const clock = createManualClock();
    const options = { connectTimeoutMs: 20_000 };
    await using host = await openHost(
      { silent: { target: silent().command, connectOptions: options }, works },
      { clock, listTimeoutMs: 0 },
    );
    await host.listTools({ server: "works" });
    const listed = host.listTools();
    await clock.advanceAsync(19_999);
    expect(await Promise.race([listed, "not yet"])).toBe("not yet");
    await clock.advanceAsync(1);
    expect((await listed).missing).toMatchObject([
      { reason: { code: "timeout", message: expect.stringContaining("within 20000 ms") } },
    ]);
  });
});

describe("a server that does not announce what it says it does", () => {
  it.each(["refuses", "half", "silent"])("is asked again after a while: %s (B7)", async (manner) => {
    const clock = createManualClock();
    const server = child("no-listen-server.mjs", manner);
    await using host = await openHost({ server }, { clock, listTtlMs: 10_000, listTimeoutMs: 0 });
    await until(isReady(host, "server"));
    if (manner !== "silent") await host.changes().ready;
    const names = async () => {
      const listed = host.listTools();
      // A server that does not confirm is waited for, but not for long.
      if (manner === "silent") await clock.advanceAsync(1_000);
      return (await listed).map(({ localName }) => localName);
    };
    expect(await names()).toEqual(["tool1"]);
    expect(await names()).toEqual(["tool1"]);
    await clock.advanceAsync(10_000);
    expect(await names()).toEqual(["tool2"]);
  });
});

describe("a host that is closed", () => {
  it("while it connects has ended what it started (P4)", async () => {
    const { command, pids } = silent();
    const host = await openHost({ silent: command });
    await until(() => pids().length === 1);
    await host.close();
    expect(pids().filter(isRunning)).toEqual([]);
  });

  it("after an attempt took too long has ended what that had started (P4)", async () => {
    const clock = createManualClock();
    const { command, pids } = silent("stubborn");
    const host = await openHost(
      { silent: { target: command, connectOptions: { connectTimeoutMs: 1_500 } } },
      { clock },
    );
    await until(() => pids().length === 1);
    await clock.advanceAsync(1_500);
    expect(host.servers()).toMatchObject([{ state: "down", reason: { code: "timeout" } }]);
    const closed = host.close();
    // A second to end by itself, a second after SIGTERM.
    await clock.advanceAsync(2_100);
    await until(() => !pids().some(isRunning));
    // The system says so a little later than it happens.
    await clock.advanceAsync(1_000);
    await closed;
  });
});

describe("a server that never confirms that it announces changes", () => {
  it("does not keep clients of the host from hearing of the others (P4)", async () => {
    const clock = createManualClock();
    await using host = await openHost({ deaf: child("no-listen-server.mjs", "silent"), works }, { clock });
    await until(() => isReady(host, "deaf")() && isReady(host, "works")());
    await using client = await connect(host);
    const changes = client.changes({ tools: true });
    await clock.advanceAsync(1_000);
    await changes.ready;
    host.restart("works");
    for await (const change of changes) {
      expect(change).toEqual({ kind: "tools" });
      break;
    }
  });
});
