import { asJson } from "../../src/json/json.ts";
import { type Call, onAbort, type Service } from "../../src/protocol/service.ts";
import { type Change, changeToNotification, isWanted, type ListenFilter } from "../../src/protocol/subscription.ts";
import type { Store } from "../../src/store/store.ts";

/** A service whose changes are counted in a store, as those of a server with a shared store are. */
export interface CountingService {
  readonly service: Service;
  announce(change: Change): Promise<void>;
  /** Signals of the calls that listen, in order. */
  readonly listening: AbortSignal[];
}

export function withSharedChanges(inner: Service, store: Store): CountingService {
  const listening: AbortSignal[] = [];
  const wakes = new Set<() => void>();

  const listen = async (call: Call<"subscriptions/listen">) => {
    listening.push(call.signal);
    const filter: ListenFilter = call.params.notifications;
    call.notify("notifications/subscriptions/acknowledged", { notifications: asJson(filter) });
    let rouse = (): void => {};
    const wake = (): void => rouse();
    wakes.add(wake);
    onAbort(call, wake);
    const subscription = await store.topics.subscribe("changes");
    void (async () => {
      for await (const _ of subscription) wake();
    })();
    const { "plugbay/after": after } = call.meta;
    let position = typeof after === "number" ? after : (await store.streams.read("changes", 0, 1)).last;
    while (!call.signal.aborted) {
      const woken = new Promise<void>((resolve) => {
        rouse = resolve;
      });
      const { events, lost, last } = await store.streams.read("changes", position, 100);
      if (lost) {
        const meta = { _meta: { "plugbay/position": last, "plugbay/lost": true } };
        call.notify("notifications/tools/list_changed", meta);
        position = last;
        continue;
      }
      for (const event of events) {
        position = event.position;
        const change: Change = JSON.parse(event.text);
        const [method, params] = changeToNotification(change);
        const meta = { "plugbay/position": position };
        if (isWanted(change, filter) && !call.signal.aborted) call.notify(method, { ...params, _meta: meta });
      }
      if (events.length === 0) await woken;
    }
    wakes.delete(wake);
    await subscription.close();
    return { kind: "complete", result: {} };
  };

  return {
    listening,
    service: ((call: Call) =>
      call.method === "subscriptions/listen"
        ? listen(call as unknown as Call<"subscriptions/listen">)
        : inner(call)) as Service,
    async announce(change) {
      const position = await store.streams.append("changes", [JSON.stringify(change)], { keep: 20_000 });
      await store.topics.publish("changes", String(position));
    },
  };
}
