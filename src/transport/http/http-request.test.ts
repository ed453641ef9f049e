import { describe, expect, it } from "vitest";
import { createFakeReply, fakeHead } from "../../../test/support/fake-reply.ts";
import { readBlocks } from "../../../test/support/sse-text.ts";
import type { JsonObject } from "../../json/json.ts";
import { createManualClock } from "../../testing/clock.ts";
import { createHeartbeat } from "./heartbeat.ts";
import { jsonHeaders, streamHeaders } from "./http-message.ts";
import { HttpIncomingRequest } from "./http-request.ts";

function exchange(changes: { readonly alwaysStream?: boolean; readonly plainErrors?: boolean } = {}) {
  const reply = createFakeReply();
  const ended: HttpIncomingRequest[] = [];
  const http = fakeHead({ "x-a": "1" });
  const made = new HttpIncomingRequest({ kind: "request", id: 7, method: "tools/call", params: {} }, http, reply, {
    heartbeat: createHeartbeat(createManualClock(), 15_000),
    maxUnreadBytes: 100,
    dropped: () => {},
    alwaysStream: false,
    ended: (one) => ended.push(one),
    ...changes,
  });
  return { made, reply, ended, http };
}

const success = { jsonrpc: "2.0", id: 7, result: { ok: true } };
const note = (n: number) => ({ jsonrpc: "2.0", method: "notifications/progress", params: { n } });

describe("the answer to a modern request", () => {
  it("C99: is plain JSON when nothing was said before it", () => {
    const { made, reply, ended } = exchange();
    made.succeed({ ok: true });
    expect(reply.sent).toEqual({ status: 200, headers: jsonHeaders, body: JSON.stringify(success) });
    expect(ended).toEqual([made]);
  });

  it("C99: is the last event of a stream from the first notification on, without ids", () => {
    const { made, reply } = exchange();
    expect(reply.sink).toBeUndefined();
    made.notify("notifications/progress", { n: 1 });
    made.notify("notifications/progress", { n: 2 });
    expect(reply.head).toEqual(streamHeaders);
    made.succeed({ ok: true });
    expect(reply.sink?.state).toBe("ended");
    expect(readBlocks(reply.sink?.text ?? "")).toEqual([
      { message: note(1) },
      { message: note(2) },
      { message: success },
    ]);
  });

  it.each<readonly [number, "fail" | "refuse", number]>([
    [-32601, "fail", 404],
    [-32020, "fail", 400],
    [-32021, "fail", 400],
    [-32022, "fail", 400],
    [-32600, "fail", 400],
    [-32700, "fail", 400],
    [-32602, "fail", 200],
    [-32603, "fail", 200],
    [-32002, "fail", 200],
    [-32602, "refuse", 400],
    [-32601, "refuse", 404],
    [-32603, "refuse", 400],
  ])("edge 11: the error %d gives, to %s, the status %d", (code, how, status) => {
    const { made, reply } = exchange();
    made[how]({ code, message: "no" });
    expect(reply.sent).toMatchObject({ status, headers: jsonHeaders });
    expect(JSON.parse(reply.sent?.body ?? "")).toEqual({ jsonrpc: "2.0", id: 7, error: { code, message: "no" } });
  });

  it("keeps every error at 200 for clients that take a status for a broken connection", () => {
    const { made, reply } = exchange({ plainErrors: true });
    made.fail({ code: -32601, message: "no" });
    expect(reply.sent?.status).toBe(200);
  });

  it("is an error at the end of a stream that has begun", () => {
    const { made, reply } = exchange();
    made.notify("notifications/progress", { n: 1 });
    made.fail({ code: -32601, message: "no" });
    expect(readBlocks(reply.sink?.text ?? "").at(-1)).toEqual({
      message: { jsonrpc: "2.0", id: 7, error: { code: -32601, message: "no" } },
    });
  });

  it("is a stream of one event where only streams are wanted, except for a status that says more", () => {
    const one = exchange({ alwaysStream: true });
    one.made.succeed({ ok: true });
    expect(one.reply.sent).toMatchObject({ status: 200, headers: streamHeaders });
    expect(readBlocks(one.reply.sent?.body ?? "")).toEqual([{ message: success }]);

    const other = exchange({ alwaysStream: true });
    other.made.fail({ code: -32601, message: "no" });
    expect(other.reply.sent).toMatchObject({ status: 404, headers: jsonHeaders });
  });

  it("is an error when it is no JSON", () => {
    const { made, reply } = exchange();
    made.succeed({ n: 1n } as unknown as JsonObject);
    expect(reply.sent?.status).toBe(200);
    expect(JSON.parse(reply.sent?.body ?? "")).toEqual({
      jsonrpc: "2.0",
      id: 7,
      error: { code: -32603, message: "the result cannot be encoded as JSON" },
    });
  });

  it("comes once, and nothing comes after it", () => {
    const { made, reply, ended } = exchange();
    made.notify("notifications/progress", { n: 1 });
    made.succeed({ ok: true });
    const { text } = reply.sink ?? {};
    made.succeed({ ok: true });
    made.fail({ code: -32603, message: "no" });
    made.notify("notifications/progress", { n: 2 });
    made.drop();
    made.gone();
    expect(reply.sink?.text).toBe(text);
    expect(made.abort.aborted).toBe(false);
    expect(ended).toEqual([made]);
  });
});

describe("edges 12 and 13: a client that is gone", () => {
  it("has cancelled, and gets nothing more", () => {
    const { made, reply, ended } = exchange();
    made.gone();
    expect(made.abort.aborted).toBe(true);
    made.notify("notifications/progress", { n: 1 });
    made.succeed({ ok: true });
    expect([reply.sent, reply.sink]).toEqual([undefined, undefined]);
    expect(ended).toEqual([made]);
  });

  it("has cancelled, also while its stream is open", () => {
    const { made, reply } = exchange();
    made.notify("notifications/progress", { n: 1 });
    made.gone();
    made.notify("notifications/progress", { n: 2 });
    made.succeed({ ok: true });
    expect(readBlocks(reply.sink?.text ?? "")).toEqual([{ message: note(1) }]);
  });
});

describe("C113: an exchange that is dropped", () => {
  it("ends with 200 and nothing", () => {
    const { made, reply, ended } = exchange();
    made.drop();
    expect(reply.sent).toMatchObject({ status: 200, body: "" });
    expect(ended).toEqual([made]);
  });

  it("ends its stream without an answer", () => {
    const { made, reply } = exchange();
    made.notify("notifications/progress", { n: 1 });
    made.drop();
    expect(reply.sink?.state).toBe("ended");
    expect(readBlocks(reply.sink?.text ?? "")).toEqual([{ message: note(1) }]);
  });
});

it("C115: tells what brought the request", () => {
  const { made, http } = exchange();
  expect(made.via.http).toBe(http);
});

it("holds back who writes while the client is slow", async () => {
  const { made, reply } = exchange();
  made.notify("notifications/progress", { n: 1 });
  reply.sink?.stall();
  const slow = made.notify("notifications/progress", { n: 2 });
  expect(slow).toBeInstanceOf(Promise);
  reply.sink?.catchUp();
  await slow;
});
