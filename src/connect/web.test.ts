import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { createServer, tool } from "../server/index.ts";
import { toFetchHandler } from "../transport/http/fetch-handler.ts";
import * as node from "./index.ts";
import * as web from "./web.ts";

const server = createServer({ name: "s", version: "1", tools: { hi: tool({ run: () => "hi" }) } });

describe("the client where there is no Node", () => {
  it("has the same exports", () => {
    expect(Object.keys(web).sort()).toEqual(Object.keys(node).sort());
  });

  it("reaches nothing of Node", () => {
    const seen = new Set<string>();
    const visit = (file: string): void => {
      if (seen.has(file)) return;
      seen.add(file);
      const source = readFileSync(file, "utf8");
      for (const [, name = ""] of source.matchAll(/(?:from|import\()\s*"([^"]+)"/g)) {
        expect(name, file).not.toMatch(/^node:/);
        if (name.startsWith(".")) visit(resolve(dirname(file), name));
      }
    };
    visit(resolve("src/connect/web.ts"));
    expect(seen.size).toBeGreaterThan(50);
    expect([...seen].filter((file) => file.includes("/node/"))).toEqual([]);
  });

  it("connects to a URL by fetch", async () => {
    const handle = toFetchHandler(server);
    vi.stubGlobal("fetch", (...request: ConstructorParameters<typeof Request>) => handle(new Request(...request)));
    try {
      await using client = await web.connect<typeof server>("http://localhost/web");
      expect(await client.tools.hi({})).toBe("hi");
    } finally {
      vi.unstubAllGlobals();
    }
  });

  it("connects to a server in the same program", async () => {
    await using client = await web.connect(server);
    expect(await client.tools.hi({})).toBe("hi");
  });

  it("starts no programs", async () => {
    await expect(web.connect("node server.js")).rejects.toMatchObject({
      code: "unsupported",
      message: 'cannot start "node": this platform starts no programs',
    });
  });
});

describe("headers of a config entry and of the options", () => {
  it.each([[{ B: "options" }], [() => ({ B: "options" })]])("are both sent; the options win", async (headers) => {
    const sent: Record<string, string>[] = [];
    const fetch = async (_url: unknown, init?: RequestInit) => {
      sent.push(init?.headers as Record<string, string>);
      return new Response(null, { status: 500 });
    };
    const entry = { url: "http://x.example/", headers: { a: "entry", b: "entry" } };
    await expect(node.connect(entry, { headers, fetch })).rejects.toMatchObject({ code: "http-error" });
    expect(sent[0]).toMatchObject({ a: "entry", b: "options" });
  });
});
