import { describe, expect, it } from "vitest";
import { httpLegacy, httpModern } from "../../test/support/http-connected.ts";

/** A page whose text is a little longer than what is asked for. */
const page = (chars: number, next?: string) => ({
  tools: [{ name: `tool-${next}`, description: "x".repeat(chars), inputSchema: { type: "object" } }],
  ...(next !== undefined && { nextCursor: next }),
});

describe.each([
  ["2026-07-28", httpModern],
  ["2025-11-25", httpLegacy],
] as const)("the bytes of a list, %s", (_, connected) => {
  const over = {
    code: "limit-reached",
    message: expect.stringMatching(
      /^tools\/list on server .* is longer than 20000 bytes in all its pages \(maxListBytes\)/,
    ),
    data: { limit: "maxListBytes", max: 20_000, scope: "call" },
  };

  it.each([
    ["as a body", false],
    ["on a stream", true],
  ])("are counted over all pages, %s (H4)", async (_way, streams) => {
    const { http, client } = await connected({ maxListBytes: 20_000, cache: false });
    const listed = client.listTools();
    listed.catch(() => {});
    for (const next of ["1", "2"]) {
      const request = await http.expect("tools/list");
      const result = page(12_000, next);
      if (streams) request.stream().say({ jsonrpc: "2.0", id: request.id, result } as never);
      else request.result(result);
    }
    await expect(listed).rejects.toMatchObject(over);
  });

  it("may be as many as allowed, or any number (H4)", async () => {
    for (const maxListBytes of [40_000, 0]) {
      const { http, client } = await connected({ maxListBytes, cache: false });
      const listed = client.listTools();
      (await http.expect("tools/list")).result(page(12_000, "1"));
      (await http.expect("tools/list")).result(page(12_000));
      expect(await listed).toHaveLength(2);
    }
  });
});
