import { type Awaitable, chain } from "../std/awaitable.ts";
import { digestText } from "../std/digest.ts";
import type { Lease, NamedValue, Store } from "./store.ts";

/**
 * The part of a store that belongs to the servers of one name. Nothing in it has the name of anything in another part: who
 * shares a store with other servers neither sees nor changes what is theirs.
 */
export function scopedStore(store: Store, scope: string): Awaitable<Store> {
  // Names in a store are short, and no other scope may begin like this one.
  if (/^[\w.@:-]{1,64}$/.test(scope)) return withPrefix(store, `${scope}/`);
  return digestText(scope).then((digest) => withPrefix(store, `~${digest}/`));
}

function withPrefix(store: Store, prefix: string): Store {
  const named = <T extends { readonly name: string }>(item: T): T => ({
    ...item,
    name: item.name.slice(prefix.length),
  });
  const full = (name: string): string => prefix + name;
  const inFull = (name: string | undefined): string | undefined => (name === undefined ? undefined : full(name));

  return {
    values: {
      get: (name) => store.values.get(full(name)),
      put: (name, text, options) =>
        store.values.put(full(name), text, options && { ...options, group: inFull(options.group) }),
      touch: (name, ttlMs) => store.values.touch(full(name), ttlMs),
      delete: (name, options) => store.values.delete(full(name), options),
      list: (group, options) =>
        chain(
          store.values.list(full(group), options && { ...options, after: inFull(options.after) }),
          (found: readonly NamedValue[]) => found.map(named),
        ),
      add: (name, amount, ttlMs) => store.values.add(full(name), amount, ttlMs),
    },
    streams: {
      append: (name, texts, options) => store.streams.append(full(name), texts, options),
      read: (name, after, limit) => store.streams.read(full(name), after, limit),
      trim: (name, through) => store.streams.trim(full(name), through),
      delete: (name) => store.streams.delete(full(name)),
    },
    topics: {
      publish: (topic, text) => store.topics.publish(full(topic), text),
      subscribe: (topic) => store.topics.subscribe(full(topic)),
    },
    leases: {
      acquire: (name, ttlMs) =>
        chain(store.leases.acquire(full(name), ttlMs), (lease) => lease && renamed(lease, name)),
      held: (name) => store.leases.held(full(name)),
    },
    get durable() {
      return store.durable;
    },
    close: () => store.close(),
    [Symbol.asyncDispose]: () => store.close(),
  };
}

function renamed(lease: Lease, name: string): Lease {
  const { token } = lease;
  return { name, token, renew: () => lease.renew(), release: () => lease.release() };
}
