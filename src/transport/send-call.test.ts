import { describe, expect, it, vi } from "vitest";
import { codecFor } from "../../test/support/codecs.ts";
import type { JsonObject } from "../json/json.ts";
import type { Notification } from "../jsonrpc/message.ts";
import type { Reply, RequestOptions } from "../jsonrpc/outbound.ts";
import type { RpcPeer } from "../jsonrpc/peer.ts";
import { McpError } from "../protocol/errors.ts";
import { metaKeys } from "../protocol/meta.ts";
import { createCall } from "../protocol/service.ts";
import { LazyAbort } from "../std/lazy-abort.ts";
import { closedFailure, findRequestId, findRequestIdModern, sendCall, sendOpenCall } from "./send-call.ts";

const codec = codecFor("2026-07-28");

/** A peer whose one request the test sees and answers. */
function onePeer() {
  let settle = (_reply: Reply): void => {};
  const seen: { method?: string; params?: JsonObject; options: RequestOptions } = { options: {} };
  const request: RpcPeer["request"] = (method, params, options = {}) => {
    Object.assign(seen, { method, params: params(7), options });
    return new Promise((resolve) => {
      settle = resolve;
    });
  };
  return { peer: { request } as RpcPeer, seen, settle: (reply: Reply) => settle(reply) };
}

function callOf(method: "tools/list" | "subscriptions/listen", wantsProgress = false) {
  const abort = new LazyAbort();
  const notify = vi.fn();
  const source = { peer: { revision: "2026-07-28", capabilities: {} } as const, abort, notify, wantsProgress };
  const call =
    method === "tools/list"
      ? createCall({ ...source, method, params: {} })
      : createCall({ ...source, method, params: { notifications: {} } });
  return { abort, notify, call };
}

const tell = (options: RequestOptions, method: string, params: JsonObject = {}) =>
  options.onNotification?.({ kind: "notification", method, params });

describe("sendCall", () => {
  it("sends what the codec makes of the call, with the id as the progress token if progress is wanted", () => {
    for (const wanted of [true, false]) {
      const { peer, seen } = onePeer();
      void sendCall(peer, codec, callOf("tools/list", wanted).call);
      expect(seen.method).toBe("tools/list");
      expect(seen.params?._meta).toEqual(
        wanted
          ? expect.objectContaining({ progressToken: 7 })
          : expect.not.objectContaining({ progressToken: expect.anything() }),
      );
    }
  });

  it("hands on notifications without what only tells whose they are", () => {
    const { peer, seen } = onePeer();
    const { call, notify } = callOf("tools/list");
    void sendCall(peer, codec, call);
    tell(seen.options, "notifications/progress", { progressToken: 7, progress: 1 });
    expect(notify).toHaveBeenCalledExactlyOnceWith("notifications/progress", { progress: 1 });
  });

  it.each<[reply: Reply, failure: object]>([
    [
      { kind: "failure", id: 7, error: { code: -32601, message: "no" } },
      { code: "method-not-found", message: "no" },
    ],
    [
      { kind: "lost", reason: "cancelled" },
      { code: "cancelled", message: "tools/list was cancelled" },
    ],
    [
      { kind: "lost", reason: "timeout" },
      { code: "timeout", message: "no response to tools/list in time" },
    ],
    [
      { kind: "lost", reason: "full", max: 2 },
      {
        code: "limit-reached",
        message: "tools/list was not sent: too many requests are unanswered (maxOpenRequests)",
        data: { limit: "maxOpenRequests", max: 2, scope: "connection" },
      },
    ],
    [
      { kind: "lost", reason: "unsent", cause: new TypeError("a BigInt") },
      { code: "invalid-params", message: "tools/list was not sent: a BigInt" },
    ],
    [
      { kind: "lost", reason: "closed" },
      { code: "connection-closed", message: "the connection is closed" },
    ],
  ])("C7: takes %j for a failure of its own kind", async (reply, failure) => {
    const { peer, settle } = onePeer();
    const outcome = sendCall(peer, codec, callOf("tools/list").call);
    settle(reply);
    expect(await outcome).toEqual({ kind: "failed", failure });
  });

  it.each<[reason: unknown, told: string | undefined]>([
    [undefined, undefined],
    ["enough", "enough"],
    [new McpError("timeout", "too long"), "timeout"],
    [new McpError("cancelled", "private"), undefined],
    [new Error("private"), undefined],
    [{ private: true }, undefined],
  ])("C6: tells the server of %o only that it was %s", (reason, told) => {
    const { peer, seen } = onePeer();
    const { call, abort } = callOf("tools/list");
    void sendCall(peer, codec, call);
    const aborted = vi.fn();
    seen.options.onAbort?.(aborted);
    abort.abort(reason);
    expect(aborted).toHaveBeenCalledOnce();
    expect(seen.options.abortReason?.()).toBe(told);
  });
});

describe("sendOpenCall", () => {
  it("is complete when the server cancels it, and is then not cancelled in turn", async () => {
    const { peer, seen, settle } = onePeer();
    const outcome = sendOpenCall(peer, codec, callOf("subscriptions/listen").call);
    const lose = vi.fn(() => settle({ kind: "lost", reason: "cancelled" }));
    seen.options.onAbort?.(lose);
    expect(seen.options.cancellable).toBe(true);
    tell(seen.options, "notifications/cancelled", { requestId: 7 });
    expect(lose).toHaveBeenCalledOnce();
    expect(seen.options.cancellable).toBe(false);
    expect(await outcome).toEqual({ kind: "complete", result: {} });
  });

  it("is cancelled when the caller says so", async () => {
    const { peer, seen, settle } = onePeer();
    const { call, abort } = callOf("subscriptions/listen");
    const outcome = sendOpenCall(peer, codec, call);
    seen.options.onAbort?.(() => settle({ kind: "lost", reason: "cancelled" }));
    abort.abort("enough");
    expect(seen.options).toMatchObject({ cancellable: true });
    expect(seen.options.abortReason?.()).toBe("enough");
    expect(await outcome).toMatchObject({ kind: "failed", failure: { code: "cancelled" } });
  });

  it("hears everything else, and ends with the answer", async () => {
    const { peer, seen, settle } = onePeer();
    const { call, notify } = callOf("subscriptions/listen");
    const outcome = sendOpenCall(peer, codec, call);
    tell(seen.options, "notifications/tools/list_changed", { _meta: { [metaKeys.subscriptionId]: 7 } });
    expect(notify).toHaveBeenCalledExactlyOnceWith("notifications/tools/list_changed", {});
    settle({ kind: "success", id: 7, result: { resultType: "complete" } });
    expect(await outcome).toMatchObject({ kind: "complete" });
  });
});

describe("closedFailure", () => {
  it.each<[cause: unknown, failure: object]>([
    [undefined, { message: "the connection is closed" }],
    ["whatever", { message: "the connection is closed" }],
    [new Error("EPIPE"), { message: "the connection is closed: EPIPE" }],
    [
      new McpError("internal", "it exited with 1", { data: { exitCode: 1 } }),
      { message: "it exited with 1", data: { exitCode: 1 } },
    ],
  ])("of %o is %j", (cause, failure) => {
    expect(closedFailure(cause)).toEqual({ code: "connection-closed", ...failure });
  });
});

describe("the request a notification belongs to", () => {
  const of = (method: string, params: JsonObject): Notification => ({ kind: "notification", method, params });

  it.each<[method: string, params: JsonObject, id: unknown, modernId?: unknown]>([
    ["notifications/progress", { progressToken: 3 }, 3],
    ["notifications/progress", { progressToken: "3" }, "3"],
    ["notifications/progress", { progressToken: null }, undefined],
    ["notifications/tools/list_changed", { _meta: { [metaKeys.subscriptionId]: "s" } }, "s"],
    ["notifications/tools/list_changed", { _meta: null }, undefined],
    ["notifications/message", {}, undefined],
    ["notifications/cancelled", { requestId: 4 }, undefined, 4],
    ["notifications/cancelled", { requestId: {} }, undefined],
  ])("%s %j is %j", (method, params, id, modernId = id) => {
    expect(findRequestId(of(method, params))).toBe(id);
    expect(findRequestIdModern(of(method, params))).toBe(modernId);
  });
});
