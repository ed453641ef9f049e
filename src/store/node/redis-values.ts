import { checkAmount, checkList, checkName, checkPut, checkTtl } from "../check.ts";
import type { Conditions, Values } from "../store.ts";
import { redisGroups } from "./redis-groups.ts";
import { decodeText, encodeText } from "./redis-names.ts";
import { createIds, type RedisParts, ttlText } from "./redis-parts.ts";

/** Values as hashes of their text, their version and their group. */
export function redisValues(parts: RedisParts): Values {
  const { keys, commands, change } = parts;
  const groups = redisGroups(parts);
  const newVersion = createIds();

  return {
    async get(name) {
      checkName(name);
      const [text, version] = await commands.run((redis) => redis.hmget(keys(name, "value"), "text", "version"));
      if (typeof text !== "string" || typeof version !== "string") return undefined;
      return { text: decodeText(text), version };
    },
    async put(name, text, options = {}) {
      checkPut(name, options);
      const { ttl, group } = options;
      // First, so that there is no value that is not listed.
      if (group !== undefined) await groups.join(group, name);
      const id = newVersion();
      const limits = [ttl === undefined ? "" : ttlText(ttl), groups.mark(group)];
      const written = await change("put", {
        id,
        name,
        keys: ["value", "fence"],
        args: [encodeText(text), id, ...conditionsOf(options), ...limits],
      });
      return written === "1" ? id : undefined;
    },
    async touch(name, ttl) {
      checkName(name);
      checkTtl(ttl);
      return (await commands.run((redis) => redis.pexpire(keys(name, "value"), ttlText(ttl)))) === 1;
    },
    async delete(name, options = {}) {
      checkName(name);
      return (await change("delete", { name, keys: ["value", "fence"], args: conditionsOf(options) })) === "1";
    },
    async list(group, options = {}) {
      checkList(group, options);
      return groups.list(group, options);
    },
    async add(name, amount, ttl) {
      checkName(name);
      checkAmount(amount);
      checkTtl(ttl);
      return Number(await change("add", { name, keys: ["number"], args: [String(amount), ttlText(ttl)] }));
    },
  };
}

/** The version, as the scripts take it, and the fence. */
function conditionsOf({ version, fence }: Conditions): readonly string[] {
  const wanted = version === undefined ? "" : version === null ? "-" : `=${version}`;
  return [wanted, String(fence ?? "")];
}
