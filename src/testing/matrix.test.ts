import { describe, expect, it } from "vitest";
import { script } from "../../test/fixtures/children/processes.ts";
import { revisions } from "../protocol/revision.ts";
import type { Service } from "../protocol/service.ts";
import { createServer, tool } from "../server/index.ts";
import { testMatrix } from "./matrix.ts";

const server = createServer({
  name: "s",
  version: "1",
  tools: {
    add: tool({
      input: { type: "object", properties: { a: { type: "number" } }, required: ["a"] },
      run: ({ a }) => `${a + 1}`,
    }),
  },
});

describe("the ways to a server", () => {
  it("are: in process with the newest revision, and over every other transport with all", () => {
    expect(testMatrix({ server }).map(({ name, transport, revision }) => [name, transport, revision])).toEqual([
      ["in process, 2026-07-28", "in process", "2026-07-28"],
      ...(["memory", "http-json", "http-sse", "fetch"] as const).flatMap((transport) =>
        revisions.map((revision) => [`${transport}, ${revision}`, transport, revision]),
      ),
    ]);
  });

  it("are over stdio when there is a command", () => {
    expect(testMatrix({ command: "node s.js" }).map(({ name }) => name)).toEqual([
      "stdio, 2024-11-05",
      "stdio, 2025-03-26",
      "stdio, 2025-06-18",
      "stdio, 2025-11-25",
      "stdio, 2026-07-28",
    ]);
  });

  it("may be limited to some revisions", () => {
    const ways = testMatrix({ server, command: "x", revisions: ["2025-06-18"] });
    const transports = ["memory", "http-json", "http-sse", "fetch", "stdio"];
    expect(ways.map(({ name }) => name)).toEqual(transports.map((transport) => `${transport}, 2025-06-18`));
  });

  it("are none to nowhere", () => {
    expect(testMatrix({})).toEqual([]);
  });
});

describe.each(testMatrix({ server }))("$name", ({ connect, transport, revision }) => {
  it("speaks this revision, over this transport, whatever the options say", async () => {
    const seen: string[] = [];
    const spy: Service = (call) => {
      seen.push(call.peer.revision);
      return server(call);
    };
    const way = testMatrix({ server: spy, revisions: [revision] }).find((each) => each.transport === transport);
    await using client = await connect({ revision: "2024-11-05" });
    expect(client.revision).toBe(revision);
    expect(await client.tools.add({ a: 1 })).toBe("2");
    await using spied = await way?.connect();
    await spied?.callTool("add", { a: 1 });
    expect(seen.at(-1)).toBe(revision);
  });
});

describe("over stdio", () => {
  it("starts the program", { timeout: 30_000 }, async () => {
    const { command, args = [] } = script("everything-that-is-not-there.mjs");
    const [way] = testMatrix({ command: [command, ...args], revisions: ["2025-11-25"] });
    await expect(way?.connect()).rejects.toMatchObject({ code: "connection-closed" });
  });
});
