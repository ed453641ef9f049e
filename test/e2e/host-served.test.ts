import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Host } from "../../src/host/index.ts";
import type { HttpServeHandle } from "../../src/transport/node/serve-http.ts";
import { openHost, serveHttp } from "./support/built.ts";
import { openV2 } from "./support/official-v2.ts";
import { everything, installed, script } from "./support/places.ts";
import { run } from "./support/run.ts";
import { type Serving, serve } from "./support/serving.ts";

// A host behind HTTP, for clients that nobody here wrote: official servers and ours behind one address.

let fixture: Serving;
let host: Host;
let served: HttpServeHandle;

beforeAll(async () => {
  fixture = await serve(script("test/fixtures/everything-server.mjs", "--port", "0"));
  host = await openHost({ ours: fixture.url, local: everything, official: installed("mcp-server-everything") });
  served = await serveHttp(host, { port: 0 });
  await host.settled();
});

afterAll(async () => {
  await served.close();
  await host.close();
});

describe.each(["auto", "legacy"] as const)("the official client of version 2 (%s) at a host", (mode) => {
  it("lists everything, and calls it by its alias", async () => {
    const session = await openV2(new StreamableHTTPClientTransport(new URL(served.url)), mode);
    const { tools } = await session.client.listTools();
    const names = tools.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["ours__add", "local__add", "official__echo"]));
    expect(await session.call("official__echo", { message: "through" })).toContain("through");
    expect(await session.call("local__echo", { message: "here" })).toContain("here");
    const { resources } = await session.client.listResources();
    expect(new Set(resources.map(({ uri }) => uri)).size).toBe(resources.length);
    for (const { uri } of resources.slice(0, 5)) {
      expect((await session.client.readResource({ uri })).contents.length).toBeGreaterThan(0);
    }
    expect((await session.client.listPrompts()).prompts.length).toBeGreaterThan(2);
    await session.client.close();
  });

  it("is asked what a server of 2026-07-28 behind the host wants to know", async () => {
    const session = await openV2(new StreamableHTTPClientTransport(new URL(served.url)), mode);
    const asked: string[] = [];
    session.fill = ({ message }) => {
      asked.push(message);
      return { action: "accept", content: { answer: "blue" } };
    };
    expect(await session.call("ours__ask", { topic: "colour" })).toContain("blue");
    expect(asked).toHaveLength(1);
    await session.client.close();
  });
});

describe("the inspector at a host", () => {
  it("lists the tools of all servers", async () => {
    const { code, stdout } = await run(installed("mcp-inspector", "--cli", served.url, "--method", "tools/list"));
    expect(code).toBe(0);
    expect(stdout).toContain("official__echo");
    expect(stdout).toContain("ours__add");
  });
});
