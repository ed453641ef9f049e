import { describe, expect, it } from "vitest";
import { gate } from "../../../test/support/served.ts";
import type { JsonObject } from "../../json/json.ts";
import type { Call, Outcome, Service } from "../../protocol/service.ts";
import { LazyAbort } from "../../std/lazy-abort.ts";
import { type ListenOptions, listenFrom } from "./change-feed.ts";
import { ChangeNotification } from "./change-hub.ts";

const filter = { toolsListChanged: true } as const;
const changed = "notifications/tools/list_changed";

function listen(options: Partial<ListenOptions> = {}) {
  const calls: Call<"subscriptions/listen">[] = [];
  const { opened, open: end } = gate<Outcome>();
  const service = ((call: Call<"subscriptions/listen">) => {
    calls.push(call);
    return opened;
  }) as Service;
  const heard: ChangeNotification[] = [];
  let ended = 0;
  const abort = new LazyAbort();
  const begun = listenFrom({
    service,
    filter,
    peer: { revision: "2026-07-28", capabilities: {} },
    abort,
    tell: (method, params) => void heard.push(new ChangeNotification(method, params)),
    ended() {
      ended++;
    },
    ...options,
  });
  const listening = { begun, stop: () => abort.abort("over") };
  const call = calls[0] ?? expect.fail("nobody was called");
  const tell = (params: JsonObject = {}) => call.notify(changed, params);
  return { call, listening, heard, tell, end, ended: () => ended };
}

describe("listening from a position", () => {
  it("says where to begin, and on whose behalf", () => {
    const { call } = listen({
      meta: { "plugbay/after": 7 },
      peer: { revision: "2026-07-28", capabilities: {}, auth: { principal: "ann" } },
    });
    expect(call.meta).toEqual({ "plugbay/after": 7 });
    expect(call.params.notifications).toEqual(filter);
    expect(call.peer.auth).toEqual({ principal: "ann" });
    expect(listen().call.meta).toEqual({});
  });

  it("begins when the service says so", async () => {
    const { call, listening, heard } = listen();
    call.notify("notifications/subscriptions/acknowledged", { notifications: {} });
    expect(await listening.begun).toBeUndefined();
    expect(heard).toEqual([]);
  });

  it("tells where things stand, as far as the service knows", () => {
    const { tell, heard } = listen();
    tell();
    tell({ _meta: { "plugbay/position": 3 } });
    tell({ _meta: { "plugbay/position": 9, "plugbay/lost": true } });
    expect(heard.map(({ position, lost }) => [position, lost])).toEqual([
      [undefined, false],
      [3, false],
      [9, true],
    ]);
  });

  it("tells nothing after it was stopped, and not that it has ended", async () => {
    const { call, listening, tell, heard, end, ended } = listen();
    listening.stop();
    expect(call.signal.aborted).toBe(true);
    tell();
    end({ kind: "complete", result: {} });
    await listening.begun;
    expect(heard).toEqual([]);
    expect(ended()).toBe(0);
  });

  it("tells why the service does not listen, and that it has ended", async () => {
    const { listening, end, ended } = listen();
    const failure = { code: "invalid-params", message: "no" } as const;
    end({ kind: "failed", failure });
    expect(await listening.begun).toEqual(failure);
    expect(ended()).toBe(1);
  });
});
