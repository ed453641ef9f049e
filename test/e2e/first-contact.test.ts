import { Client, SSEClientTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, it } from "vitest";
import { script as child } from "../fixtures/children/processes.ts";
import { connect, McpError, openHost } from "./support/built.ts";
import { script } from "./support/places.ts";
import { serve } from "./support/serving.ts";

// Servers of others that cannot take `server/discover`, each in its own way: our client connects to every one that the official
// client connects to.

const http = await serve(script("test/fixtures/picky-http-server.mjs", "--port", "0"));

/** A program on stdio, which tells what each of its processes was asked. */
function program(file: string, ...args: readonly string[]) {
  let said = "";
  const stderr = (text: string): void => {
    said += text;
  };
  const command = { ...child(file, ...args), stderr };
  const processes = () =>
    said
      .split(/^pid \d+\n/m)
      .slice(1)
      .map((lines) => [...lines.matchAll(/^(?:heard )?([a-z]+\/?[a-z]+)$/gm)].map(([, method]) => method));
  return { command, processes };
}

/** The official client, as an application would use it. True when it connects. */
async function officialConnects(transports: readonly (() => Parameters<Client["connect"]>[0])[]): Promise<boolean> {
  for (const transport of transports) {
    for (const mode of ["auto", "legacy"] as const) {
      const versionNegotiation = { mode, probe: { timeoutMs: 1_000 } };
      const client = new Client({ name: "official", version: "2" }, { versionNegotiation });
      try {
        await client.connect(transport(), { timeout: 10_000 });
        await client.close();
        return true;
      } catch {
        await client.close();
      }
    }
  }
  return false;
}

/** The methods that the server over HTTP was sent at a path so far. */
async function heardAt(path: string): Promise<readonly string[]> {
  const heard = (await (await fetch(new URL("/heard", http.url))).json()) as Readonly<
    Record<string, readonly string[]>
  >;
  return heard[path] ?? [];
}

describe.each([
  { what: "ends", file: "picky-server.mjs", manner: "exits", starts: 2 },
  { what: "takes no initialize afterwards", file: "picky-server.mjs", manner: "spoiled", starts: 2 },
  { what: "answers with an empty result", file: "picky-server.mjs", manner: "empty", starts: 1 },
  { what: "does not answer", file: "mute-server.mjs", manner: "", starts: 1 },
])("a server on stdio that, asked for what it does not know, $what", ({ file, manner, starts }) => {
  it("is connected to, as by the official client (I1, I3)", async () => {
    const { command, args } = child(file, manner);
    const official = () => new StdioClientTransport({ command, args: [...args], stderr: "ignore" });
    expect(await officialConnects([official])).toBe(true);

    const { command: ours, processes } = program(file, manner);
    await using client = await connect(ours, { probeMs: 1_000 });
    expect(client.revision).toBe("2025-11-25");
    expect(await client.tools.speak?.({})).toBe("spoken");
    expect(processes()).toHaveLength(starts);
    expect(processes()[0]?.[0]).toBe("server/discover");
  });
});

describe.each([
  ["exits", "picky-server.mjs"],
  ["spoiled", "picky-server.mjs"],
  ["empty", "picky-server.mjs"],
  ["hangs", "mute-server.mjs"],
])("a server on stdio that cannot take the probe (%s)", (manner, file) => {
  const probe = { probeMs: 1_000 };

  it("is not asked again what it is, and started once (I1)", async () => {
    const first = program(file, manner, "remembered");
    await (await connect(first.command, probe)).close();
    const second = program(file, manner, "remembered");
    await (await connect(second.command, probe)).close();
    expect(second.processes()).toEqual([["initialize", "notifications/initialized"]]);
  });

  it("is connected to by a host, and connected to again without a probe (I1)", async () => {
    const { command, processes } = program(file, manner, "member");
    await using host = await openHost({ picky: { target: command, connectOptions: probe } });
    expect(await host.callTool("picky:speak")).toMatchObject({ content: [{ text: "spoken" }] });
    const before = processes().length;
    await host.restart("picky");
    expect(await host.callTool("picky:speak")).toMatchObject({ content: [{ text: "spoken" }] });
    expect(processes().slice(before)[0]?.[0]).toBe("initialize");
  });
});

describe("a server on stdio that takes no opening", () => {
  it("is started twice and no more, and the error says what was tried (I1, X15)", async () => {
    const { command, processes } = program("dies-at-once.mjs");
    const error: unknown = await connect(command).catch((reason: unknown) => reason);
    if (!(error instanceof McpError)) throw new Error("there was no McpError", { cause: error });
    expect(error.message).toMatch(
      / exited with code 4 before answering; stderr: .*; tried server\/discover \(\d+ ms: exited with code 4 .*\), initialize 2025-11-25 in a new process \(\d+ ms: exited with code 4 /s,
    );
    expect(error.data).toMatchObject({
      exitCode: 4,
      attempts: [{ opening: "server/discover" }, { opening: "initialize 2025-11-25 in a new process" }],
    });
    expect(processes()).toHaveLength(2);
  });
});

describe("a server on stdio that the probe silences for good", () => {
  it("is given up at the time limit, in one process, and connected to by a client that knows its revision (I1)", async () => {
    const { command, processes } = program("picky-server.mjs", "silenced");
    await expect(connect(command, { probeMs: 100, connectTimeoutMs: 500 })).rejects.toMatchObject({
      code: "timeout",
      data: { attempts: [{ opening: "server/discover" }, { opening: "initialize 2025-11-25" }] },
    });
    expect(processes()).toHaveLength(1);
    await using client = await connect(command, { revisionHint: "2025-11-25" });
    expect(await client.tools.speak?.({})).toBe("spoken");
  });
});

describe.each(["/empty", "/mute", "/crash", "/bridge"])("a server over HTTP at %s", (path) => {
  it("is connected to, as by the official client (I1, I3)", async () => {
    const url = new URL(path, http.url);
    expect(await officialConnects([() => new StreamableHTTPClientTransport(url)])).toBe(true);
    await using client = await connect(url, { probeMs: 1_000 });
    expect(client.revision).toBe("2025-11-25");
    expect(await client.tools.speak?.({})).toBe("spoken");
  });
});

describe.each(["/empty", "/mute", "/bridge"])("a server over HTTP that cannot take the probe, at %s", (path) => {
  it("is not asked again what it is (I1)", async () => {
    const url = new URL(path, http.url);
    const probe = { probeMs: 1_000 };
    await (await connect(url, probe)).close();
    const before = (await heardAt(path)).length;
    await using client = await connect(url, probe);
    expect(await client.tools.speak?.({})).toBe("spoken");
    const again = (await heardAt(path)).slice(before);
    expect(again[0]).toBe("initialize");
    expect(again).not.toContain("server/discover");
  });
});

describe("a bridge over HTTP to one program, which has opened the only session for the probe", () => {
  it("is not connected to, nor by the official client, and the error says what it answered (I1, X15)", async () => {
    const official = new URL("/one-child/official", http.url);
    expect(await officialConnects([() => new StreamableHTTPClientTransport(official)])).toBe(false);
    const error: unknown = await connect(new URL("/one-child/ours", http.url)).catch((reason: unknown) => reason);
    if (!(error instanceof McpError)) throw new Error("there was no McpError", { cause: error });
    expect(error.code).toBe("invalid-request");
    expect(error.message).toMatch(
      /: Invalid Request: Server already initialized; tried server\/discover \(\d+ ms: Method not found\), initialize 2025-11-25 \(\d+ ms\)/,
    );
  });

  it("is connected to by a client that knows its revision (I1)", async () => {
    await using client = await connect(new URL("/one-child/hinted", http.url), { revisionHint: "2025-11-25" });
    expect(await client.tools.speak?.({})).toBe("spoken");
  });
});

describe("a server that has HTTP+SSE only", () => {
  it("is connected to in the newest revision that it speaks, as by the official client (I7)", async () => {
    const url = new URL("/sse", http.url);
    const transports = [() => new StreamableHTTPClientTransport(url), () => new SSEClientTransport(url)];
    expect(await officialConnects(transports)).toBe(true);
    await using client = await connect(url);
    expect(client.revision).toBe("2025-11-25");
    expect(await client.tools.speak?.({})).toBe("spoken");
  });
});

describe("a web site", () => {
  it("is not connected to, nor by the official client, and the error says what it answered (X15)", async () => {
    const url = new URL("/html?key=secret", http.url);
    const transports = [() => new StreamableHTTPClientTransport(url), () => new SSEClientTransport(url)];
    expect(await officialConnects(transports)).toBe(false);
    const error: unknown = await connect(url).catch((reason: unknown) => reason);
    if (!(error instanceof McpError)) throw new Error("there was no McpError", { cause: error });
    expect(error.code).toBe("invalid-response");
    expect(error.message).toMatch(
      /^cannot connect to http:\/\/127\.0\.0\.1:\d+: .*"text\/html".*; is this the URL of an MCP server, .*; tried server\/discover \(\d+ ms\), initialize 2025-11-25 \(\d+ ms\)/,
    );
    expect(error.message).not.toContain("secret");
  });
});
