import type { CallOf } from "../protocol/service.ts";
import { asyncQueue } from "../std/async-queue.ts";
import type { ChangeFeed, HostChange, HostChanges, ResourceRef } from "./change-feed.ts";
import type { ServerSlots } from "./host-view.ts";
import type { OwnConnections } from "./own-connections.ts";

interface CallerChangesOptions {
  readonly changes: ChangeFeed;
  readonly slots: ServerSlots;
  readonly own: OwnConnections | undefined;
}

/** The changes that a client of the host hears of: of connections that all share, and of its own. */
export async function changesFor(
  caller: CallOf,
  { resources, signal }: { readonly resources: readonly ResourceRef[]; readonly signal: AbortSignal },
  { changes, slots, own }: CallerChangesOptions,
): Promise<HostChanges> {
  if (own === undefined) return changes({ resources, signal });
  const queue = createUniqueQueue(keyOf);
  const wanted = new Set(resources.map(({ server, uri }) => keyOf({ kind: "resource", server, uri })));
  own.hearChanges(
    caller,
    (change) => {
      if (change.kind !== "resource" || wanted.has(keyOf(change))) queue.push(change);
    },
    signal,
  );
  const shared: ResourceRef[] = [];
  const watched: Promise<void>[] = [];
  const watch = async (ref: ResourceRef): Promise<void> => {
    const slot = slots.get(ref.server);
    if (slot === undefined) return;
    const over = await own.watchOver(slot, caller, signal);
    if (over.origin === undefined) return void shared.push(ref);
    const { ready, stop } = over.follower.watch(ref.uri);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
    watched.push(ready);
  };
  await Promise.all(resources.map(watch));
  const feed = changes({ resources: shared, signal });
  void pump(feed, queue);
  return { ready: Promise.all([feed.ready, ...watched]).then(() => {}), [Symbol.asyncIterator]: queue.read };
}

/** Ends the queue with the feed. */
async function pump(feed: HostChanges, queue: UniqueQueue<HostChange>): Promise<void> {
  try {
    for await (const change of feed) queue.push(change);
    queue.end();
  } catch (error) {
    queue.fail(error);
  }
}

function keyOf(change: HostChange): string {
  return JSON.stringify([change.server, change.kind, change.kind === "resource" ? change.uri : ""]);
}

/** A queue in which each thing waits at most once. */
interface UniqueQueue<T> {
  push(item: T): void;
  end(): void;
  fail(error: unknown): void;
  read(): AsyncIterator<T, undefined>;
}

function createUniqueQueue<T>(toKey: (item: T) => string): UniqueQueue<T> {
  const queue = asyncQueue<T>();
  const waiting = new Set<string>();
  return {
    push(item) {
      const key = toKey(item);
      if (waiting.has(key)) return;
      waiting.add(key);
      queue.push(item);
    },
    end: queue.end,
    fail: queue.fail,
    async *read() {
      for await (const item of queue) {
        waiting.delete(toKey(item));
        yield item;
      }
      return undefined;
    },
  };
}
