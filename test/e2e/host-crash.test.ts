import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Host } from "../../src/host/index.ts";
import { script as child, isRunning, until } from "../fixtures/children/processes.ts";
import { connect, openHost } from "./support/built.ts";

// What becomes of calls when the program they are for is killed.

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "plugbay-crash-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A server that notes what it is asked in a file, and its number on stderr. */
function noting(...manners: readonly string[]) {
  let said = "";
  const stderr = (text: string): void => {
    said += text;
  };
  const log = join(folder, "calls.txt");
  writeFileSync(log, "");
  return {
    spec: {
      target: { ...child("crashing-server.mjs", log, ...manners), stderr },
      options: { timeoutMs: 0, maxTotalMs: 0 },
    },
    /** The number of the process that was started last. */
    pid: () => Number([...said.matchAll(/pid (\d+)/g)].at(-1)?.[1]),
    starts: () => [...said.matchAll(/pid (\d+)/g)].length,
    calls: () => readFileSync(log, "utf8").split("\n").filter(Boolean),
  };
}

/** Kills a process and comes back when it is dead with all its threads, before this process can have heard of it. */
function killNow(pid: number): void {
  process.kill(pid, "SIGKILL");
  while (isRunning(pid) || readdirSync(`/proc/${pid}/task`).length > 1);
}

const textOf = async (call: Promise<{ readonly content: readonly unknown[] }>) =>
  ((await call).content[0] as { readonly text: string }).text;

/** The ways to call a tool of a host: as its owner, and as a client of it. */
const ways = {
  "callTool of the host": async (host: Host) => (tool: string) => host.callTool(`s:${tool}`),
  "a client of the host": async (host: Host) => {
    const client = await connect(host);
    return (tool: string) => client.callTool(`s__${tool}`);
  },
};

describe.each(Object.entries(ways))("after a crash, by %s", (_, way) => {
  it.each(["write", "read"])(
    "a call of %s that the dead server has not seen is sent to the next one, once (P3)",
    async (tool) => {
      const { spec, pid, starts, calls } = noting();
      await using host = await openHost({ s: spec });
      const call = await way(host);
      await textOf(call("write"));
      const before = calls().length;
      killNow(pid());
      // Nobody can know yet.
      expect(host.servers()).toMatchObject([{ state: "ready" }]);
      expect(await textOf(call(tool))).toBe(`${tool} by ${pid()}`);
      expect(starts()).toBe(2);
      expect(calls().slice(before)).toEqual([tool]);
    },
  );

  it("a call is sent to the next one also while others hold the pipes of the dead server (P3)", async () => {
    const { spec, pid, calls } = noting("family");
    await using host = await openHost({ s: spec });
    const call = await way(host);
    await textOf(call("write"));
    const dead = pid();
    const before = calls().length;
    killNow(dead);
    await new Promise((resolve) => setImmediate(resolve));
    expect(await textOf(call("write"))).toBe(`write by ${pid()}`);
    expect(pid()).not.toBe(dead);
    expect(calls().slice(before)).toEqual(["write"]);
  });

  it("a call that was lost is sent again if its tool only reads, though nobody has listed it (P3, X3)", async () => {
    const { spec, pid, starts, calls } = noting("hangs-once");
    await using host = await openHost({ s: spec });
    const call = await way(host);
    const read = textOf(call("read"));
    await until(() => calls().length === 1);
    process.kill(pid(), "SIGKILL");
    expect(await read).toBe(`read by ${pid()}`);
    expect([starts(), calls()]).toEqual([2, ["read", "read"]]);
  });

  it("a call that was lost is not sent again if its tool may do harm (P3, X3)", async () => {
    const { spec, pid, calls } = noting("hangs-once");
    await using host = await openHost({ s: spec });
    const call = await way(host);
    const written = expect(call("write")).rejects.toMatchObject({
      code: "connection-closed",
      // The owner of the host learns how the program ended; its clients do not.
      message: expect.stringMatching(/was killed by SIGKILL|: server s was lost before it answered$/),
    });
    await until(() => calls().length === 1);
    process.kill(pid(), "SIGKILL");
    await written;
    expect(calls()).toEqual(["write"]);
  });
});

describe("a resource, a prompt and a completion", () => {
  it("are asked for again when their server is gone (P3)", async () => {
    const { spec, pid } = noting();
    await using host = await openHost({ s: spec });
    await using client = await connect(host);
    const ref = { type: "ref/prompt", name: "offer" } as const;
    const asks = [
      () => host.readResource("s", "stock://all"),
      () => host.getPrompt("s", "offer"),
      () => host.complete("s", { ref, argument: { name: "sku", value: "a" } }),
      () => client.readResource("stock://all"),
      () => client.getPrompt("s__offer"),
      () => client.complete({ ref: { ...ref, name: "s__offer" }, argument: { name: "sku", value: "a" } }),
    ];
    for (const ask of asks) {
      await ask();
      const dead = pid();
      killNow(dead);
      await ask();
      expect(pid()).not.toBe(dead);
      await host.restart("s");
      await host.settled();
    }
  });
});

describe("a server that was killed", () => {
  it("is told of by events and changes, and its next life has its own lists (P3)", async () => {
    const { spec, pid, starts } = noting("grows");
    await using host = await openHost({ s: spec });
    expect((await host.listTools()).map(({ localName }) => localName)).toContain("life1");
    const events = host.events();
    const changes = host.changes();
    await changes.ready;
    killNow(pid());
    const states: string[] = [];
    for await (const event of events) {
      if (event.kind === "state") states.push(event.status.state);
      if (states.at(-1) === "ready") break;
    }
    expect(states).toEqual(["down", "connecting", "ready"]);
    const kinds: string[] = [];
    for await (const { kind, server } of changes) if (kinds.push(`${server} ${kind}`) === 6) break;
    expect(kinds).toEqual(["s tools", "s prompts", "s resources", "s tools", "s prompts", "s resources"]);
    expect(starts()).toBe(2);
    const names = (await host.listTools()).map(({ localName }) => localName);
    expect(names).toContain("life2");
    expect(names).not.toContain("life1");
    await expect(host.callTool("s:life1")).rejects.toMatchObject({ code: "invalid-params" });
  });
});
