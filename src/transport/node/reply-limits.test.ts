import { describe, expect, it } from "vitest";
import { clientLimits } from "../../protocol/limits.ts";
import { createReplyLimits } from "./reply-limits.ts";

const request = (id: number | string, maxBytes?: number) =>
  ({ kind: "request", id, method: "tools/list", params: {}, ...(maxBytes !== undefined && { maxBytes }) }) as const;
const response = (id: number | string, text: string) => JSON.stringify({ jsonrpc: "2.0", id, result: { text } });

describe("a limit of one response", () => {
  it.each([7, "seven"])("fails the request whose response is longer, and no other: %j", (id) => {
    const { sent, parse } = createReplyLimits();
    sent(request(id, 60));
    sent(request(8));
    expect(parse(response(8, "x".repeat(100)), clientLimits)).toMatchObject({ kind: "success", id: 8 });
    expect(parse(response(id, "x".repeat(100)), clientLimits)).toMatchObject({
      kind: "undelivered",
      id,
      cause: { code: "limit-reached", data: { max: 60 } },
    });
    expect(parse(response(id, "x".repeat(100)), clientLimits)).toMatchObject({ kind: "success", id });
  });

  it("takes a response that fits, however the server writes it", () => {
    const { sent, parse } = createReplyLimits();
    sent(request(1, 60));
    expect(parse(response(1, "x"), clientLimits)).toMatchObject({ kind: "success", id: 1 });
    sent(request(2, 60));
    expect(parse('{ "jsonrpc": "2.0", "id": 2, "result": { "a": 1 } }', clientLimits)).toMatchObject({ id: 2 });
    sent(request(3, 60));
    const last = JSON.stringify({ jsonrpc: "2.0", result: { text: "x".repeat(100) }, id: 3 });
    expect(parse(last, clientLimits)).toMatchObject({ kind: "success", id: 3 });
  });

  it("forgets the oldest of many that were not answered", () => {
    const { sent, parse } = createReplyLimits();
    for (let id = 0; id < 1_100; id++) sent(request(id, 60));
    expect(parse(response(0, "x".repeat(100)), clientLimits)).toMatchObject({ kind: "success" });
    expect(parse(response(1_099, "x".repeat(100)), clientLimits)).toMatchObject({ kind: "undelivered" });
  });
});
