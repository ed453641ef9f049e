import { checkName, checkTtl } from "../check.ts";
import type { Lease, Leases } from "../store.ts";
import { type RedisParts, ttlText } from "./redis-parts.ts";

/** Leases whose tokens are times. The last one is remembered for 30 days after its lease ended. */
export function redisLeases({ keys, commands, change }: RedisParts): Leases {
  const leaseOf = (name: string, token: string, ttl: string): Lease => ({
    name,
    token: Number(token),
    async renew() {
      return (await commands.script("renew", [keys(name, "lease"), keys(name, "fence"), token, ttl])) === 1;
    },
    async release() {
      await commands.script("release", [keys(name, "lease"), token]);
    },
  });

  return {
    async acquire(name, ttl) {
      checkName(name);
      checkTtl(ttl);
      const token = await change("acquire", { name, keys: ["lease", "fence"], args: [ttlText(ttl)] });
      return token === "-" ? undefined : leaseOf(name, token, ttlText(ttl));
    },
    async held(name) {
      checkName(name);
      return (await commands.run((redis) => redis.exists(keys(name, "lease")))) === 1;
    },
  };
}
