import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { HttpServeHandle } from "../../src/transport/node/serve-http.ts";
import { connect, createServer, openGateway, serveHttp, tool } from "./support/built.ts";
import { script } from "./support/places.ts";
import { type Serving, serve } from "./support/serving.ts";

// Results of 10 MB by a gateway: whole, read once, and not kept.

const SIZE = 10_000_000;
const MB = 1_000_000;

let upstream: HttpServeHandle;

beforeAll(async () => {
  const big = "x".repeat(SIZE);
  const rows = Array.from({ length: 20_000 }, (_, id) => ({ id, name: `row ${id}` }));
  const shop = createServer({
    name: "shop",
    version: "1.0.0",
    tools: { big: tool({ run: () => big }), rows: tool({ run: () => ({ structuredContent: { rows }, content: [] }) }) },
  });
  upstream = await serveHttp(shop, { port: 0 });
});

afterAll(() => upstream.close());

describe("a large result", () => {
  it("passes as it is, and is parsed once", async () => {
    await using gateway = await openGateway({ shop: upstream.url });
    await using serving = await serveHttp(gateway, { port: 0 });
    await using client = await connect(serving.url);
    await client.listTools();
    const parse = vi.spyOn(JSON, "parse");
    const stringify = vi.spyOn(JSON, "stringify");
    try {
      const { content } = await client.callTool("shop__big");
      expect(content).toEqual([{ type: "text", text: "x".repeat(SIZE) }]);
      const parsed = parse.mock.calls.filter(([text]) => String(text).length > MB);
      const written = stringify.mock.results.filter(({ value }) => String(value).length > MB);
      // The gateway and the client parse it once each; the server and the gateway write it once each.
      expect([parsed.length, written.length]).toEqual([2, 2]);
    } finally {
      parse.mockRestore();
      stringify.mockRestore();
    }
  });

  it("keeps its structured content, whatever its size", async () => {
    await using gateway = await openGateway({ shop: upstream.url });
    await using client = await connect(gateway);
    const { structuredContent, isError } = await client.callTool("shop__rows");
    expect([isError, (structuredContent as { rows: unknown[] }).rows.length]).toEqual([undefined, 20_000]);
  });
});

describe.skipIf(process.platform !== "linux")("a gateway in a process of its own", () => {
  let gateway: Serving;

  beforeAll(async () => {
    gateway = await serve(script("test/fixtures/children/large-results-gateway.mjs", upstream.url));
  });

  /** The most memory that the process has had, in MB. */
  const peak = (): number => {
    const [, kB = "0"] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${gateway.child.pid}/status`, "utf8")) ?? [];
    return Number(kB) / 1_000;
  };

  it("needs no more memory for thirty of them than for five", async () => {
    await using client = await connect(`${gateway.url}/mcp`);
    const pass = async (count: number): Promise<void> => {
      for (let n = 0; n < count; n++) {
        const { content } = await client.callTool("shop__big");
        expect((content[0] as { text: string }).text.length).toBe(SIZE);
      }
    };
    await pass(5);
    const before = peak();
    await pass(25);
    expect(peak() - before).toBeLessThan(60);
  });
});
