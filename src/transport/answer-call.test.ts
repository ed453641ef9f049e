import { describe, expect, it, vi } from "vitest";
import { codecFor } from "../../test/support/codecs.ts";
import { eventually } from "../../test/support/patience.ts";
import { gate } from "../../test/support/served.ts";
import type { JsonObject } from "../json/json.ts";
import { createInbound, type IncomingRequest } from "../jsonrpc/inbound.ts";
import type { Message } from "../jsonrpc/message.ts";
import type { WireCall } from "../protocol/codec/codec.ts";
import { metaKeys } from "../protocol/meta.ts";
import { type Method, methodRow } from "../protocol/methods.ts";
import type { Call, Outcome } from "../protocol/service.ts";
import { answerCall, throttledNotify } from "./answer-call.ts";

const codec = codecFor("2026-07-28");
const server = { name: "s", version: "1" };

/** A request that has arrived, and what is written in answer to it. */
function arrived(method: Method, more: Partial<WireCall> = {}, pace?: Promise<void>) {
  const written: Message[] = [];
  const channel = {
    incoming: (async function* () {})(),
    send(message: Message) {
      written.push(message);
      return pace;
    },
    close: async () => {},
  };
  const params: JsonObject = method === "subscriptions/listen" ? { notifications: {} } : {};
  const exchange = createInbound(0).open({ kind: "request", id: "r", method, params }, channel) as IncomingRequest;
  const wire = {
    method,
    row: methodRow(method),
    params,
    peer: { revision: "2026-07-28", capabilities: {} },
    meta: {},
    progressToken: undefined,
    logLevel: undefined,
    answers: undefined,
    state: undefined,
    ...more,
  } as WireCall;
  return { exchange, wire, written };
}

const done: Outcome = { kind: "complete", result: { tools: [] } };

describe("answerCall", () => {
  it("makes a call of everything the request says", async () => {
    const more = { meta: { trace: "t" }, progressToken: 0, logLevel: "error", answers: { a: 1 }, state: "s" } as const;
    const { exchange, wire } = arrived("tools/list", more);
    const ask = vi.fn();
    const serve = vi.fn(async (_call: Call) => done);
    await answerCall(exchange, wire, { codec, server, serve, ask });
    const { progressToken: _, ...same } = more;
    expect(serve.mock.calls[0]?.[0]).toMatchObject({ method: "tools/list", wantsProgress: true, ask, ...same });
  });

  it("answers with the outcome, signed", async () => {
    const { exchange, wire, written } = arrived("tools/list");
    await answerCall(exchange, wire, { codec, server, serve: async () => done });
    expect(written).toMatchObject([
      { kind: "success", id: "r", result: { tools: [], _meta: { [metaKeys.serverInfo]: server } } },
    ]);
  });

  it("answers with the failure of a call, and of an outcome that cannot be said", async () => {
    const outcomes: Outcome[] = [
      { kind: "failed", failure: { code: "missing-capability", message: "no" } },
      { kind: "input-required", questions: {} },
    ];
    const numbers = [];
    for (const outcome of outcomes) {
      const { exchange, wire, written } = arrived("tools/list");
      await answerCall(exchange, wire, { codec, serve: async () => outcome });
      numbers.push(written[0]?.kind === "failure" && written[0].error.code);
    }
    expect(numbers).toEqual([-32021, -32603]);
  });

  it.each<[how: string, serve: () => Promise<Outcome>]>([
    ["rejects", () => Promise.reject(new Error("/secret"))],
    [
      "throws",
      () => {
        throw new Error("/secret");
      },
    ],
  ])("C42: masks what a service that %s says", async (_how, serve) => {
    const said = vi.spyOn(console, "error").mockReturnValue();
    const { exchange, wire, written } = arrived("tools/list");
    await answerCall(exchange, wire, { codec, serve });
    expect(written).toEqual([{ kind: "failure", id: "r", error: { code: -32603, message: "internal error" } }]);
    expect(said).toHaveBeenCalledOnce();
    said.mockRestore();
  });

  it("C37: does not run a call that was cancelled before", async () => {
    const { exchange, wire, written } = arrived("tools/list");
    const serve = vi.fn();
    exchange.abort.abort("enough");
    await answerCall(exchange, wire, { codec, serve });
    expect(serve).not.toHaveBeenCalled();
    expect(written).toEqual([]);
  });

  it("C20: marks progress with the token, and sends none that was not asked for", async () => {
    for (const progressToken of [0, "", undefined]) {
      const { exchange, wire, written } = arrived("tools/list", { progressToken });
      const serve = async (call: Call) => {
        call.notify("notifications/progress", { progress: 1 });
        return done;
      };
      await answerCall(exchange, wire, { codec, serve });
      const told = written.slice(0, -1);
      expect(told).toEqual(
        progressToken === undefined
          ? []
          : [{ kind: "notification", method: "notifications/progress", params: { progress: 1, progressToken } }],
      );
    }
  });

  it("marks everything of an open call with its id", async () => {
    const { exchange, wire, written } = arrived("subscriptions/listen");
    const serve = async (call: Call): Promise<Outcome> => {
      call.notify("notifications/tools/list_changed", {});
      return { kind: "complete", result: {} };
    };
    await answerCall(exchange, wire, { codec, serve });
    const _meta = { [metaKeys.subscriptionId]: "r" };
    expect(written).toEqual([
      { kind: "notification", method: "notifications/tools/list_changed", params: { _meta } },
      { kind: "success", id: "r", result: { resultType: "complete", _meta } },
    ]);
  });

  it("tells the client of an open call the same news once, as long as it is slow", async () => {
    for (const method of ["subscriptions/listen", "tools/list"] as const) {
      const { exchange, wire, written } = arrived(method, {}, new Promise(() => {}));
      const serve = async (call: Call) => {
        for (let i = 0; i < 100; i++) call.notify("notifications/tools/list_changed", {});
        return done;
      };
      await answerCall(exchange, wire, { codec, serve });
      expect(written).toHaveLength(method === "subscriptions/listen" ? 2 : 101);
    }
  });

  it("says when an open call has ended with a result, after that is written", async () => {
    const ends: unknown[] = [];
    const outcomes: Outcome[] = [
      { kind: "complete", result: {} },
      { kind: "failed", failure: { code: "internal", message: "no" } },
    ];
    for (const method of ["subscriptions/listen", "tools/list"] as const) {
      for (const outcome of outcomes) {
        const { exchange, wire, written } = arrived(method);
        const ended = () => ends.push([method, written.length]);
        await answerCall(exchange, wire, { codec, serve: async () => outcome, ended });
      }
    }
    expect(ends).toEqual([["subscriptions/listen", 1]]);
  });
});

/** A reader that is slow for as long as its gates are closed. */
function slowly(...gates: readonly Promise<void>[]) {
  const sent: [string, JsonObject][] = [];
  const notify = throttledNotify((method, params) => {
    sent.push([method, params]);
    return gates[sent.length - 1];
  });
  const settled = () => new Promise((resolve) => setTimeout(resolve, 0));
  return { sent, notify, settled };
}

describe("patientNotify", () => {
  it("sends at once to a reader that keeps up", () => {
    const { sent, notify } = slowly();
    expect(notify("a", { n: 1 })).toBeUndefined();
    expect(notify("a", { n: 2 })).toBeUndefined();
    expect(sent).toEqual([
      ["a", { n: 1 }],
      ["a", { n: 2 }],
    ]);
  });

  it("keeps the last of the same news for a slow one, in the order in which they first came", async () => {
    const { opened, open } = gate();
    const { sent, notify, settled } = slowly(opened);
    expect(notify("a", {})).toBe(opened);
    notify("updated", { uri: "x", n: 1 });
    notify("a", {});
    notify("updated", { uri: "y" });
    for (let n = 2; n < 1_000; n++) notify("updated", { uri: "x", n });
    await settled();
    expect(sent).toHaveLength(1);
    open();
    await settled();
    expect(sent.slice(1)).toEqual([
      ["updated", { uri: "x", n: 999 }],
      ["a", {}],
      ["updated", { uri: "y" }],
    ]);
    notify("a", { n: 3 });
    expect(sent).toHaveLength(5);
  });

  it("keeps the last of every task", async () => {
    const { opened, open } = gate();
    const { sent, notify, settled } = slowly(opened);
    notify("a", {});
    for (const n of [1, 2]) for (const taskId of ["x", "y"]) notify("tasks", { taskId, n });
    open();
    await settled();
    expect(sent.slice(1)).toEqual([
      ["tasks", { taskId: "x", n: 2 }],
      ["tasks", { taskId: "y", n: 2 }],
    ]);
  });

  it("waits again when the reader falls behind again, and loses nothing that came meanwhile", async () => {
    const [first, second] = [gate(), gate()];
    const { sent, notify, settled } = slowly(first.opened, second.opened);
    notify("a", {});
    notify("b", {});
    notify("c", {});
    first.open();
    await settled();
    expect(sent.map(([method]) => method)).toEqual(["a", "b"]);
    notify("b", {});
    notify("d", {});
    second.open();
    await settled();
    expect(sent.map(([method]) => method)).toEqual(["a", "b", "c", "b", "d"]);
  });

  it("is not stopped by news that cannot be sent", async () => {
    const said = vi.spyOn(console, "error").mockReturnValue();
    const { opened, open } = gate();
    const sent: string[] = [];
    const notify = throttledNotify((method) => {
      if (method === "bad") throw new TypeError("no JSON");
      sent.push(method);
      return sent.length === 1 ? opened : undefined;
    });
    expect(() => notify("bad", {})).toThrow("no JSON");
    notify("a", {});
    notify("bad", {});
    notify("b", {});
    open();
    await eventually(() => expect(sent).toEqual(["a", "b"]));
    expect(said).toHaveBeenCalledOnce();
    said.mockRestore();
  });
});
