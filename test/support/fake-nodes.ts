import { memoryStore } from "../../src/store/memory-store.ts";
import type { Store } from "../../src/store/store.ts";
import { createManualClock, type ManualClock } from "../../src/testing/clock.ts";
import type { HttpOptions } from "../../src/transport/http/options.ts";
import { type FakeEndpoint, serveFake } from "./fake-endpoint.ts";
import { createHttpService, type HttpService } from "./http-service.ts";
import { type CountingService, withSharedChanges } from "./shared-changes.ts";

/** One of several endpoints that share a store. */
export interface FakeNode extends FakeEndpoint, Omit<HttpService, "server"> {
  readonly announce: CountingService["announce"];
  readonly listening: CountingService["listening"];
  /** The store as this one sees it. It can be taken away. */
  readonly store: BreakableStore;
}

/** A store that a test can take away. */
export interface BreakableStore extends Store {
  /** What to reject with from now on, if anything. */
  fault: Error | undefined;
}

export interface FakeNodes {
  readonly nodes: readonly [FakeNode, FakeNode, FakeNode];
  readonly store: Store;
  readonly clock: ManualClock;
  settled(): Promise<void>;
}

/** Three endpoints over one store in memory, on one clock. */
export function serveFakeNodes(options: HttpOptions = {}): FakeNodes {
  const clock = createManualClock();
  const store = memoryStore({ clock });
  const node = (): FakeNode => {
    const view = breakable(store);
    const { server, ...rest } = createHttpService();
    const { service, announce, listening } = withSharedChanges(server, store);
    return {
      ...rest,
      announce,
      listening,
      ...serveFake(service, { clock, store: view, ...options }),
      clock,
      store: view,
    };
  };
  return { nodes: [node(), node(), node()], store, clock, settled: () => clock.advanceAsync(0) };
}

function breakable(store: Store): BreakableStore {
  const view = { ...store, fault: undefined as Error | undefined };
  const guard = <T extends object>(methods: T): T =>
    Object.fromEntries(
      Object.entries(methods).map(([name, method]) => [
        name,
        async (...args: readonly unknown[]) => {
          if (view.fault !== undefined) throw view.fault;
          return method(...args);
        },
      ]),
    ) as T;
  return Object.assign(view, {
    values: guard(store.values),
    streams: guard(store.streams),
    topics: guard(store.topics),
    leases: guard({
      held: store.leases.held,
      async acquire(name: string, ttlMs: number) {
        const lease = await store.leases.acquire(name, ttlMs);
        return lease && { ...lease, ...guard({ renew: lease.renew, release: lease.release }) };
      },
    }),
  });
}
