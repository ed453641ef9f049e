import { mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Client } from "../../src/connect/index.ts";
import type { Command } from "../../src/transport/command.ts";
import { isRunning } from "../fixtures/children/processes.ts";
import { connect } from "./support/built.ts";
import { createLog } from "./support/events.ts";
import { modest, offersEverything } from "./support/everything-server.ts";
import { announces, answers, asks, logs, reportsProgress, version2 } from "./support/official-server.ts";
import { installed, type Program, script } from "./support/places.ts";
import { call, talkWith } from "./support/talk.ts";

// Our client against servers of others over stdio: the official reference servers,
// and one made with version 2 of the official SDK, in both of its eras.

/** Time to start for a server that would take an early greeting for the choice of the older era. */
const probeMs = 20_000;

/** A command that says the number of its process, whatever program it runs. */
function numbered({ command, args }: Program): { readonly command: Command; pid(): number } {
  const said = createLog<string>();
  const [file = "", ...rest] = args;
  const first = `process.stderr.write("pid " + process.pid + "\\n"); process.argv.splice(1, 0, ${JSON.stringify(file)});`;
  const loader = `${first} import(require("node:url").pathToFileURL(require("node:fs").realpathSync(process.argv[1])))`;
  return {
    command: { command, args: ["-e", loader, "--", ...rest], stderr: said.add },
    pid: () => Number(/pid (\d+)/.exec(said.items.join(""))?.[1]),
  };
}

describe.each([
  { name: "pinned to modern", revision: "2026-07-28", options: { revision: "2026-07-28" } },
  { name: "pinned to legacy", revision: "2025-11-25", options: { revision: "2025-11-25" } },
  { name: "negotiated", revision: "2026-07-28", options: { probeMs } },
  { name: "slower to start than it is waited for", revision: "2025-11-25", options: { probeMs: 1 } },
] as const)("the official server of version 2, $name", ({ revision, options }) => {
  const { command, pid } = numbered(script("test/fixtures/official-v2-server.mjs"));
  const talk = talkWith(command, options);

  it(`speaks ${revision}`, () => {
    expect(talk().client.revision).toBe(revision);
  });

  answers(talk, version2);
  for (const behaviour of [reportsProgress, asks, announces, logs]) behaviour(talk);

  it("ends with the client", async () => {
    expect(isRunning(pid())).toBe(true);
    await talk().client.close();
    expect(isRunning(pid())).toBe(false);
  });
});

describe("a server whose user says no", () => {
  it.each(["decline", "cancel"] as const)("by %s", async (action) => {
    const program = script("test/fixtures/official-v2-server.mjs");
    await using client = await connect(program, { onElicit: () => ({ action }), probeMs });
    expect(await call(client, "greet")).toBe(`You said ${action}.`);
  });
});

describe("the official server with everything", () => {
  const { command, pid } = numbered(installed("mcp-server-everything", "stdio"));
  const talk = talkWith(command, modest);

  it("is of the legacy era", () => {
    const { client } = talk();
    expect(client.revision).toBe("2025-11-25");
    expect(client.server.serverInfo).toMatchObject({ name: "mcp-servers/everything" });
  });

  offersEverything(talk);

  it("ends with the client, though it has timers running", async () => {
    expect(isRunning(pid())).toBe(true);
    await talk().client.close();
    expect(isRunning(pid())).toBe(false);
  });
});

describe("the official server for files", () => {
  let directory: string;
  let client: Client;

  beforeAll(async () => {
    directory = await realpath(await mkdtemp(join(tmpdir(), "plugbay-")));
    await writeFile(join(directory, "a.txt"), "the content of a");
    client = await connect(installed("mcp-server-filesystem", directory));
  });
  afterAll(async () => {
    await client.close();
    await rm(directory, { recursive: true });
  });

  it("lists its tools, and promises structured content", async () => {
    const tools = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["read_text_file", "write_file"]));
    expect(tools.filter(({ outputSchema }) => outputSchema !== undefined)).not.toHaveLength(0);
  });

  it("reads, writes and refuses", async () => {
    const [a, b] = [join(directory, "a.txt"), join(directory, "b.txt")];
    expect(await client.tools.read_text_file?.({ path: a })).toEqual({ content: "the content of a" });
    await client.tools.write_file?.({ path: b, content: "the content of b" });
    expect(await readFile(b, "utf8")).toBe("the content of b");
    await expect(client.tools.read_text_file?.({ path: "/etc/passwd" })).rejects.toMatchObject({ code: "tool-error" });
  });

  it("can be given other roots", async () => {
    const other = await realpath(await mkdtemp(join(tmpdir(), "plugbay-")));
    const roots = [{ uri: `file://${other}` }];
    await using rooted = await connect(installed("mcp-server-filesystem", directory), { roots });
    const allowed = async () => JSON.stringify(await rooted.callTool("list_allowed_directories"));
    while (!(await allowed()).includes(other));
    rooted.setRoots([{ uri: `file://${directory}` }]);
    while (!(await allowed()).includes(directory));
    await rm(other, { recursive: true });
  });
});

describe("our own server, slower to start than it is waited for", () => {
  it("is asked both ways, and stays modern", async () => {
    const program = script("test/fixtures/everything-server.mjs", "--stdio");
    await using client = await connect(program, { probeMs: 1 });
    expect(client.revision).toBe("2026-07-28");
    expect((await client.listTools()).length).toBeGreaterThan(0);
  });
});

describe("what a client remembers", () => {
  it("is not that a server was spoken to in an old way because the user wanted it", async () => {
    const program = script("test/fixtures/everything-server.mjs", "--stdio");
    for (const revision of ["2025-06-18", undefined] as const) {
      await using client = await connect(program, revision && { revision });
      expect(client.revision).toBe(revision ?? "2026-07-28");
    }
  });
});
