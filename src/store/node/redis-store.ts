import { checkName, checkTtl } from "../check.ts";
import { type Lease, type Store, StoreError, type StoreLeases } from "../store.ts";
import { clientFactory, parseRedisUrl, type RedisTls, within } from "./redis-client.ts";
import {
  type ConnectionEvents,
  createConnection,
  createRedisErrors,
  type RedisConnection,
  type RedisParts,
  redisParts,
  ttlText,
} from "./redis-connection.ts";
import { createKeys } from "./redis-scripts.ts";
import { redisStreams } from "./redis-streams.ts";
import { redisTopics } from "./redis-topics.ts";
import { redisValues } from "./redis-values.ts";

export interface RedisStoreOptions {
  /** What all keys start with; "plugbay" when left out. Stores with different prefixes do not see each other. */
  readonly prefix?: string | undefined;
  /** How long a call waits for Redis before it rejects with `unavailable`: 5,000 ms when left out. */
  readonly waitMs?: number;
  /** How many calls may wait for a connection; more reject at once. 10,000 when left out. */
  readonly maxWaiting?: number;
  /** For `rediss://` with certificates of one's own. */
  readonly tls?: RedisTls;
}

/**
 * A store in Redis 6.2 or later, or Valkey, for any number of processes: `redis://user:password@host:port/db`, with TLS
 * `rediss://`. `valkey://` and `valkeys://` are the same.
 *
 * Resolves when Redis has answered. Rejects with `unavailable` when it does not within `waitMs`, with `invalid` when it
 * refuses the password or the database, and with `unsupported` without the package ioredis.
 *
 * When the connection breaks it is made again, and calls wait for it. A change whose answer was lost is sent again and
 * carried out once. Only a call that rejects with `unavailable` may have been carried out or not. What was acknowledged
 * is as safe as Redis is set up to keep it: it must not evict keys, and what it does not write to disk is lost with it.
 */
export async function redisStore(url: string, options: RedisStoreOptions = {}): Promise<Store> {
  const { prefix = "plugbay", waitMs = 5_000, maxWaiting = 10_000, tls } = options;
  const address = parseRedisUrl(url);
  if (/[{}]/.test(prefix)) throw new StoreError("invalid", "redis: a prefix has no braces");
  const create = await clientFactory(address, tls);
  const errors = createRedisErrors(address);
  const connection = (name: string, events?: ConnectionEvents): RedisConnection =>
    createConnection({ client: create(name), errors, waitMs, maxWaiting, ...events });

  const commands = connection("plugbay-commands");
  try {
    await commands.run((redis) => redis.ping());
  } catch (error) {
    await commands.close();
    throw error;
  }

  const work = createWork();
  const parts = redisParts(commands, createKeys(prefix), waitMs);
  const topics = redisTopics(parts, (events) => connection("plugbay-topics", events));
  const leases = redisLeases(parts);
  const closing = async (): Promise<void> => {
    await within(work.end(), 2 * waitMs);
    await topics.end();
    await commands.close();
  };
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closed ??= closing();
    return closed;
  };

  return {
    values: work.track(redisValues(parts)),
    streams: work.track(redisStreams(parts)),
    topics: work.track({ publish: topics.publish, subscribe: topics.subscribe }),
    leases: work.track({
      held: leases.held,
      async acquire(name, ttlMs) {
        const lease = await leases.acquire(name, ttlMs);
        return lease && { ...lease, ...work.track({ renew: lease.renew, release: lease.release }) };
      },
    }),
    durable: true,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The calls that are under way. */
interface Work {
  /** The same methods, refused after the end. */
  track<T extends object>(methods: T): T;
  /** Refuses calls from now on. Resolves when those under way are settled. */
  end(): Promise<void>;
}

type Method = (...args: readonly unknown[]) => Promise<unknown>;

function createWork(): Work {
  let open = 0;
  let ended = false;
  let settled = (): void => {};

  const leave = (): void => {
    open--;
    if (open === 0) settled();
  };

  const tracked = (method: Method): Method => {
    return (...args) => {
      if (ended) return Promise.reject(new StoreError("closed", "the store is closed"));
      const call = method(...args);
      open++;
      call.then(leave, leave);
      return call;
    };
  };

  return {
    track<T extends object>(methods: T) {
      return Object.fromEntries(Object.entries(methods).map(([name, method]) => [name, tracked(method)])) as T;
    },
    end() {
      ended = true;
      if (open === 0) return Promise.resolve();
      return new Promise((resolve) => {
        settled = resolve;
      });
    },
  };
}

/** Leases whose tokens are times. The last one is remembered for 30 days after its lease ended. */
function redisLeases({ keys, commands, change }: RedisParts): StoreLeases {
  const leaseOf = (name: string, token: string, ttlMs: string): Lease => ({
    name,
    token: Number(token),
    async renew() {
      return (await commands.script("renew", [keys(name, "lease"), keys(name, "fence"), token, ttlMs])) === 1;
    },
    async release() {
      await commands.script("release", [keys(name, "lease"), token]);
    },
  });

  return {
    async acquire(name, ttlMs) {
      checkName(name);
      checkTtl(ttlMs);
      const token = await change("acquire", { name, keys: ["lease", "fence"], args: [ttlText(ttlMs)] });
      return token === "-" ? undefined : leaseOf(name, token, ttlText(ttlMs));
    },
    async held(name) {
      checkName(name);
      return (await commands.run((redis) => redis.exists(keys(name, "lease")))) === 1;
    },
  };
}
