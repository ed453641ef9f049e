import { describe, expect, it } from "vitest";
import { httpLegacy, httpModern } from "../../../../test/support/http-connected.ts";

const malformed = (id: unknown) =>
  ({ jsonrpc: "2.0", id, result: { content: [] }, error: { code: 1, message: "?" } }) as never;

describe.each([
  ["2026-07-28", httpModern],
  ["2025-11-25", httpLegacy],
] as const)("a response of %s with both a result and an error", (_revision, connected) => {
  it("fails its call at once as a body (B6)", async () => {
    const { http, client, clock } = await connected();
    const result = client.callTool("a");
    result.catch(() => {});
    await clock.advanceAsync(1_000);
    const request = await http.expect("tools/call");
    request.reply(200, { "content-type": "application/json" }, JSON.stringify(malformed(request.id)));
    await expect(result).rejects.toMatchObject({ code: "invalid-response" });
  });

  it("fails its call at once on a stream (B6)", async () => {
    const { http, client, clock } = await connected();
    const result = client.callTool("a");
    result.catch(() => {});
    await clock.advanceAsync(1_000);
    const request = await http.expect("tools/call");
    request.stream().say(malformed(request.id));
    await expect(result).rejects.toMatchObject({
      code: "invalid-response",
      message: expect.stringContaining('"result" and "error" exclude each other'),
    });
  });
});
