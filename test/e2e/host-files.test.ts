import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Host, HostEvent } from "../../src/host/index.ts";
import { script as child, isRunning } from "../fixtures/children/processes.ts";
import { createLock, openHost, writeLock } from "./support/built.ts";
import { everything } from "./support/places.ts";

// Hosts over files: what is in them, what is wrong with them, and what changes.

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "plugbay-files-"));
});
afterAll(() => rm(folder, { recursive: true }));

const at = (name: string): string => join(folder, name);
const save = (name: string, servers: object): Promise<void> =>
  writeFile(at(name), `// a comment\n${JSON.stringify({ mcpServers: servers }, undefined, 2)}`);

async function next(events: AsyncIterable<HostEvent>, isIt: (event: HostEvent) => boolean): Promise<HostEvent> {
  for await (const event of events) if (isIt(event)) return event;
  throw new Error("it did not happen");
}

const isReady = (server: string) => (event: HostEvent) =>
  event.kind === "state" && event.server === server && event.status.state === "ready";

/** The number of the process of a server that tells it on stderr. */
const pidOf = async (host: Host, server: string): Promise<number> => {
  const { content } = await host.callTool(`${server}:pid`);
  return Number((content[0] as { text: string }).text);
};

describe("a host over a file", () => {
  it("follows it, and touches only what changed", async () => {
    const problems: string[] = [];
    await save("mcp.json", { one: child("pid-server.mjs", "one"), two: child("pid-server.mjs", "two") });
    await using host = await openHost(at("mcp.json"), {
      watch: true,
      onConfigProblem: (problem) => problems.push(problem),
    });
    await host.settled();
    const [one, two] = [await pidOf(host, "one"), await pidOf(host, "two")];

    const added = next(host.events(), isReady("three"));
    await save("mcp.json", {
      one: child("pid-server.mjs", "one"),
      two: child("pid-server.mjs", "changed"),
      three: child("pid-server.mjs"),
    });
    await added;
    await host.settled();
    expect(host.servers().map(({ name }) => name)).toEqual(["one", "two", "three"]);
    expect(await pidOf(host, "one")).toBe(one);
    expect(await pidOf(host, "two")).not.toBe(two);
    expect(isRunning(two)).toBe(false);

    const removed = next(host.events(), ({ kind }) => kind === "removed");
    await writeFile(at("mcp.json"), '{ "mcpServers": { "one": ');
    await save("mcp.json", { two: child("pid-server.mjs", "changed") });
    await removed;
    await host.settled();
    expect(await pidOf(host, "two")).toBeGreaterThan(0);
    expect(host.servers().map(({ name }) => name)).toEqual(["two"]);
  });

  it("runs the others when one server has a problem, and says which and where", async () => {
    const command = everything;
    await save("broken.json", {
      good: command,
      bad: { command: "node", env: { KEY: ["$", "{PLUGBAY_NOT_SET}"].join("") } },
    });
    await using host = await openHost(at("broken.json"));
    const status = Object.fromEntries((await host.settled()).map((one) => [one.name, one]));
    expect(status.good?.state).toBe("ready");
    expect(status.bad).toMatchObject({
      state: "off",
      reason: {
        code: "invalid-config",
        message: expect.stringMatching(/broken\.json:\d+:\d+: bad: .*PLUGBAY_NOT_SET/),
      },
    });
    await expect(host.callTool("bad:any")).rejects.toMatchObject({ code: "invalid-config" });
  });

  it("rejects a file that cannot be understood, with its place", async () => {
    await writeFile(at("torn.json"), '{ "mcpServers": { "a": { "command": } } }');
    await expect(openHost(at("torn.json"))).rejects.toMatchObject({
      code: "invalid-config",
      message: expect.stringMatching(/torn\.json:1:\d+/),
    });
    await expect(openHost(at("none.json"))).rejects.toMatchObject({ code: "invalid-config" });
  });

  it("puts files together: the later one counts", async () => {
    await save("user.json", { tool: child("pid-server.mjs", "user"), only: child("pid-server.mjs") });
    await save("project.json", { tool: child("pid-server.mjs", "project") });
    await using host = await openHost([at("user.json"), at("project.json")]);
    const { content } = await host.callTool("tool:name");
    expect(content[0]).toMatchObject({ text: "project" });
    expect(host.servers().map(({ name }) => name)).toEqual(["tool", "only"]);
  });
});

describe("a host with a lockfile", () => {
  it("answers lists without starting anything, and refuses what changed", async () => {
    const before = { shop: child("pid-server.mjs", "shop") };
    const lock = at("plugbay.lock");
    {
      await using host = await openHost(before);
      await writeLock(lock, await createLock(await host.readSurfaces()));
    }
    await using host = await openHost(before, { lock, connect: "lazy" });
    expect((await host.listTools()).map(({ name }) => name)).toEqual(["shop:name", "shop:pid"]);
    expect(host.servers()).toMatchObject([{ state: "idle" }]);
    expect(await pidOf(host, "shop")).toBeGreaterThan(0);

    await using other = await openHost(
      { shop: child("pid-server.mjs", "shop", "changed") },
      { lock, listTimeoutMs: 0 },
    );
    await other.settled();
    expect(await other.listTools()).toEqual([]);
    await expect(other.callTool("shop:pid")).rejects.toMatchObject({ code: "denied" });
    await expect(openHost(before, { lock: at("none.lock") })).rejects.toMatchObject({ code: "invalid-config" });
  });
});
