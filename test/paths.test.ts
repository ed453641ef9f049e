import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { connect } from "../src/connect/index.ts";
import { createServer, tool } from "../src/server/index.ts";
import { serveHttp } from "../src/transport/node/http.ts";
import { root } from "./e2e/support/places.ts";
import { typedScript } from "./fixtures/children/processes.ts";

// ARCHITECTURE.md lists the files that a call passes. Here each call is made once, with one of its ends in a process of its own, and
// the files that ran there are compared with the list.

/** What is below the paths: entered by many files, and listed nowhere. */
const isHelper = (file: string): boolean => /^(std|json|schema|store|protocol(?!\/codec))\//.test(file);

const page = readFileSync(join(root, "ARCHITECTURE.md"), "utf8");
const children = new Set<ChildProcess>();
afterAll(async () => {
  await Promise.all([...children].map(async (child) => child.kill("SIGKILL") && (await once(child, "exit"))));
});

describe("the paths in ARCHITECTURE.md", () => {
  it("stdio server", async () => {
    const server = await trace("stdio");
    let id = 0;
    expect(await server.during(() => server.exchange(request(++id, "add")))).toEqual(listed("stdio server"));
  });

  it("stdio server, 2025-11-25", async () => {
    const server = await trace("stdio");
    await server.exchange(initialize, '"protocolVersion":"2025-11-25"');
    let id = 0;
    const ran = await server.during(() => server.exchange(request(++id, "add", {})));
    expect(beyond("stdio server", ran)).toEqual(listed("stdio server, 2025-11-25"));
  });

  it("HTTP server, 2026-07-28", async () => {
    const server = await trace("http");
    const client = await connect(String(server.said));
    expect(await server.during(() => client.callTool("add", { a: 1 }))).toEqual(listed("HTTP server, 2026-07-28"));
    await client.close();
  });

  it("HTTP server, 2025-11-25", async () => {
    const server = await trace("http");
    const client = await connect(String(server.said), { revision: "2025-11-25" });
    expect(await server.during(() => client.callTool("add", { a: 1 }))).toEqual(listed("HTTP server, 2025-11-25"));
    await client.close();
  });

  it("question, 2026-07-28", async () => {
    const server = await trace("http");
    const client = await connect(String(server.said), { onElicit: () => ({ ok: true }) });
    const ran = await server.during(() => client.callTool("ask"));
    expect(beyond("HTTP server, 2026-07-28", ran)).toEqual(listed("question, 2026-07-28"));
    await client.close();
  });

  it("question, 2025-11-25", async () => {
    const server = await trace("http");
    const client = await connect(String(server.said), { revision: "2025-11-25", onElicit: () => ({ ok: true }) });
    const ran = await server.during(() => client.callTool("ask"));
    expect(beyond("HTTP server, 2025-11-25", ran)).toEqual(listed("question, 2025-11-25"));
    await client.close();
  });

  it("task", async () => {
    const server = await trace("http");
    const client = await connect(String(server.said));
    const ran = await server.during(() => client.callTool("work"));
    expect(beyond("HTTP server, 2026-07-28", ran)).toEqual(listed("task"));
    await client.close();
  });

  it("client, stdio", async () => {
    const client = await trace("client", JSON.stringify(typedScript("traced.ts", "stdio")));
    expect(await client.during(client.act)).toEqual(listed("client, stdio"));
  });

  it("client, HTTP", async () => {
    await using served = await serveHttp(sums, { port: 0 });
    const client = await trace("client", served.url);
    expect(await client.during(client.act)).toEqual(listed("client, HTTP"));
  });

  it("client, HTTP, 2025-11-25", async () => {
    await using served = await serveHttp(sums, { port: 0 });
    const client = await trace("older client", served.url);
    expect(beyond("client, HTTP", await client.during(client.act))).toEqual(listed("client, HTTP, 2025-11-25"));
  });

  it("host", async () => {
    await using served = await serveHttp(sums, { port: 0 });
    const host = await trace("host", served.url);
    expect(beyond("client, HTTP", await host.during(host.act))).toEqual(listed("host"));
  });

  it("served host", async () => {
    await using served = await serveHttp(sums, { port: 0 });
    const host = await trace("served host", served.url);
    const client = await connect(String(host.said));
    const tool = (await client.listTools())[0]?.name ?? "";
    const ran = await host.during(() => client.callTool(tool, { a: 1 }));
    const known = [...listed("HTTP server, 2026-07-28"), ...listed("client, HTTP"), ...listed("host")];
    expect(ran.filter((file) => !known.includes(file))).toEqual(listed("served host"));
    await client.close();
  });
});

const sums = createServer({
  name: "sums",
  version: "1.0.0",
  tools: {
    add: tool({
      input: { type: "object", properties: { a: { type: "number" } }, required: ["a"] },
      output: { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] },
      run: ({ a }) => ({ sum: a + 1 }),
    }),
  },
});

/** The files in the block under a heading, in alphabetical order. */
function listed(heading: string): readonly string[] {
  const [, block] = page.split(`\n### ${heading}\n`)[1]?.split("```") ?? [];
  if (block === undefined) throw new Error(`ARCHITECTURE.md has no block under "### ${heading}"`);
  return [...block.matchAll(/^(\S+\.ts)/gm)].map(([, file = ""]) => file).toSorted();
}

/** Files that ran and are not those of another path. */
function beyond(heading: string, ran: readonly string[]): readonly string[] {
  const known = listed(heading);
  return ran.filter((file) => !known.includes(file));
}

const ofNewest = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1.0.0" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** A request for a tool, of 2026-07-28 unless `meta` says less. */
function request(id: number, name: string, meta: object = ofNewest): string {
  return JSON.stringify({
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: { name, arguments: { a: 1 }, _meta: meta },
  });
}

/** Opens a session of 2025-11-25. */
const initialize = [
  {
    jsonrpc: "2.0",
    id: "hello",
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1.0.0" } },
  },
  { jsonrpc: "2.0", method: "notifications/initialized" },
]
  .map((message) => JSON.stringify(message))
  .join("\n");

interface Traced {
  /** What the child said when it was ready. */
  readonly said: unknown;
  /** Writes a line to the child, and waits for one with this text, by default the result of the tool. */
  exchange(line: string, expected?: string): Promise<void>;
  act(): Promise<void>;
  /** The files that run whenever something is done; it is done twice before, so that everything is loaded. */
  during(work: () => Promise<unknown>): Promise<readonly string[]>;
}

/** Starts one side of a call in a process of its own. */
async function trace(side: string, target = ""): Promise<Traced> {
  const { command, args } = typedScript("traced.ts", side, target);
  const child = spawn(command, args, { cwd: root, stdio: ["pipe", "pipe", "inherit", "ipc"] });
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error("the child has no streams");
  children.add(child);
  const ask = async (message: string): Promise<unknown> => {
    const answer = once(child, "message");
    child.send(message);
    return (await answer)[0];
  };
  const gone = once(child, "exit").then(([code]) => Promise.reject(new Error(`${side} exited with code ${code}`)));
  const [{ ready: said }] = await Promise.race([once(child, "message"), gone]);
  gone.catch(() => {});
  const reset = async (): Promise<void> => void (await ask("reset"));
  const files = async (): Promise<readonly string[]> =>
    ((await ask("files")) as readonly string[]).filter((file) => !isHelper(file)).toSorted();
  return {
    said,
    exchange: async (line, expected = '"sum":2') => {
      const answer = once(stdout, "data");
      stdin.write(`${line}\n`);
      expect(String(await answer)).toContain(expected);
    },
    act: async () => void (await ask("act")),
    during: async (work) => {
      await work();
      await work();
      const traces: (readonly string[])[] = [];
      for (let n = 0; n < 3; n++) {
        await reset();
        await work();
        traces.push(await files());
      }
      // A timer that happens to run at the same time is no part of the path.
      const [first = [], ...others] = traces;
      return first.filter((file) => others.every((trace) => trace.includes(file)));
    },
  };
}
