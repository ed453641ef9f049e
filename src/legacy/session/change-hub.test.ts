import { describe, expect, it, vi } from "vitest";
import { codecFor } from "../../../test/support/codecs.ts";
import { gate } from "../../../test/support/served.ts";
import type { JsonObject } from "../../json/json.ts";
import type { ServerCodec } from "../../protocol/codec/codec.ts";
import type { Call, Outcome, Service } from "../../protocol/service.ts";
import { type ChangeListener, type ChangeNotification, createChangeHub, type HubOptions } from "./change-hub.ts";

const changed = "notifications/tools/list_changed";
const updated = "notifications/resources/updated";
const ack = "notifications/subscriptions/acknowledged";
const filter = { toolsListChanged: true };

/** Listening calls as they arrive, each to be confirmed, told and ended by the test. */
function remote() {
  const calls: { call: Call<"subscriptions/listen">; end(outcome: Outcome): void }[] = [];
  const service = ((call: Call<"subscriptions/listen">) => {
    const { opened, open } = gate<Outcome>();
    calls.push({ call, end: open });
    return opened;
  }) as Service;
  const hub = createChangeHub(service);
  const listen = ({ tell, ...options }: Partial<HubOptions> & Partial<Pick<ChangeListener, "tell">> = {}) => {
    const heard: ChangeNotification[] = [];
    const ended = vi.fn();
    const listener = { tell: tell ?? ((change: ChangeNotification) => void heard.push(change)), ended };
    const listening = hub.listen({ filter, ...options }, listener);
    return { listening, heard, ended, positions: () => heard.map(({ position }) => position) };
  };
  const at = (index: number) => calls[index] ?? expect.fail(`only ${calls.length} calls`);
  /** Tells those calls that want it of the change at a position. */
  const change = (position: number, ...indexes: readonly number[]): void => {
    for (const index of indexes) at(index).call.notify(changed, { _meta: { "plugbay/position": position } });
  };
  return { calls, listen, at, change };
}

const open = (calls: ReturnType<typeof remote>["calls"]) => calls.map(({ call }) => !call.signal.aborted);
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("listening once for many", () => {
  it("takes one call, from the first to the last", () => {
    const { calls, listen } = remote();
    const all = [listen(), listen(), listen()];
    expect(calls).toHaveLength(1);
    all[0]?.listening.stop();
    all[1]?.listening.stop();
    expect(open(calls)).toEqual([true]);
    all[2]?.listening.stop();
    all[2]?.listening.stop();
    expect(open(calls)).toEqual([false]);
    listen();
    expect(open(calls)).toEqual([false, true]);
  });

  it("tells those that listen, and no longer when they stopped", () => {
    const { listen, at } = remote();
    const early = listen();
    at(0).call.notify(changed, {});
    const late = listen();
    at(0).call.notify(changed, {});
    early.listening.stop();
    at(0).call.notify(changed, {});
    expect([early, late].map(({ heard }) => heard.length)).toEqual([2, 2]);
  });

  it("encodes a change once for each revision", () => {
    const counted = (codec: ServerCodec): ServerCodec => ({
      ...codec,
      encodeNotification: vi.fn(codec.encodeNotification),
    });
    const codecs = [counted(codecFor("2025-11-25")), counted(codecFor("2025-06-18"))] as const;
    const { listen, at } = remote();
    const texts: (string | undefined)[] = [];
    for (let index = 0; index < 100; index++) {
      listen({ tell: (change) => void texts.push(change.text(codecs[index % 2] ?? codecs[0])) });
    }
    at(0).call.notify(changed, { _meta: { "plugbay/position": 3, own: 1 } });
    for (const { encodeNotification } of codecs) expect(encodeNotification).toHaveBeenCalledTimes(1);
    expect(texts).toHaveLength(100);
    expect(new Set(texts)).toEqual(
      new Set([JSON.stringify({ jsonrpc: "2.0", method: changed, params: { _meta: { own: 1 } } })]),
    );
  });

  it("tells nobody what it did not ask for, though the service may, but all that is part of a resource", () => {
    const { listen, at } = remote();
    const lists = listen({ filter: { promptsListChanged: true } });
    const parts = listen({ filter: { resourceSubscriptions: ["file:///a"] } });
    for (const index of [0, 1]) {
      at(index).call.notify(changed, {});
      at(index).call.notify(updated, { uri: "file:///a/part" });
    }
    expect(lists.heard).toEqual([]);
    expect(parts.heard.map(({ params }) => params as JsonObject)).toEqual([{ uri: "file:///a/part" }]);
  });

  it("is not shared between principals, scopes or filters", () => {
    const { calls, listen } = remote();
    const auths = [undefined, { principal: "ann" }, { principal: "bob" }, { principal: "bob", scopes: ["read"] }];
    for (const auth of [...auths, ...auths]) listen({ auth });
    expect(calls.map(({ call }) => call.peer.auth)).toEqual(auths);
    listen({ filter: { promptsListChanged: true } });
    expect(calls).toHaveLength(5);
  });

  it("has begun for all when the service says so, and says why not", async () => {
    const { listen, at } = remote();
    const [one, other] = [listen(), listen()];
    at(0).call.notify(ack, {});
    expect(await Promise.all([one.listening.begun, other.listening.begun])).toEqual([undefined, undefined]);
    const failure = { code: "internal", message: "no more listeners" } as const;
    const refused = [
      listen({ filter: { promptsListChanged: true } }),
      listen({ filter: { promptsListChanged: true } }),
    ];
    at(1).end({ kind: "failed", failure });
    expect(await Promise.all(refused.map(({ listening }) => listening.begun))).toEqual([failure, failure]);
    expect(refused.map(({ ended }) => ended.mock.calls.length)).toEqual([1, 1]);
  });

  it("ends for all when the service ends it, and begins anew for who comes then", async () => {
    const { calls, listen, at } = remote();
    const [one, other] = [listen(), listen()];
    at(0).end({ kind: "complete", result: {} });
    await settled();
    expect([one, other].map(({ ended }) => ended.mock.calls.length)).toEqual([1, 1]);
    const again = listen();
    at(1).call.notify(changed, {});
    expect([one, other, again].map(({ heard }) => heard.length)).toEqual([0, 0, 1]);
    one.listening.stop();
    expect(open(calls)[1]).toBe(true);
  });
});

describe("from a position", () => {
  it("shares the call of those that stand where it does", () => {
    const { calls, listen, change } = remote();
    const first = listen({ after: 3 });
    const second = listen({ after: 3 });
    change(4, 0);
    const third = listen({ after: 4 });
    change(5, 0);
    expect(calls.map(({ call }) => call.meta)).toEqual([{ "plugbay/after": 3 }]);
    expect([first, second, third].map(({ positions }) => positions())).toEqual([[4, 5], [4, 5], [5]]);
  });

  it.each([
    ["before", [0, 1]],
    ["after", [1, 0]],
  ])("has a call of its own until it stands where the others do, who hear %s it", (_, order) => {
    const { calls, listen, change } = remote();
    const first = listen({ after: 5 });
    const second = listen({ after: 3 });
    expect(calls.map(({ call }) => call.meta)).toEqual([{ "plugbay/after": 5 }, { "plugbay/after": 3 }]);
    change(4, 1);
    expect(open(calls)).toEqual([true, true]);
    change(5, 1);
    expect(open(calls)).toEqual([true, false]);
    const third = listen({ after: 9 });
    expect(calls).toHaveLength(3);
    for (const index of order) change(10, [0, 2][index] ?? 0);
    expect(open(calls)).toEqual([true, false, false]);
    change(11, 0);
    expect([first, second, third].map(({ positions }) => positions())).toEqual([
      [10, 11],
      [4, 5, 10, 11],
      [10, 11],
    ]);
  });

  it("goes on alone when the others have left", () => {
    const { calls, listen, change } = remote();
    const first = listen({ after: 5 });
    const second = listen({ after: 3 });
    first.listening.stop();
    change(4, 1);
    expect(second.positions()).toEqual([4]);
    second.listening.stop();
    expect(open(calls)).toEqual([false, false]);
  });

  it("does not take for its own the place of others that have lost something", () => {
    const { calls, listen, at } = remote();
    listen({ after: 5 });
    const second = listen({ after: 3 });
    at(1).call.notify(changed, { _meta: { "plugbay/position": 5, "plugbay/lost": true } });
    expect(second.heard).toMatchObject([{ lost: true, position: 5 }]);
    expect(open(calls)).toEqual([true, true]);
  });
});
