import { checkAmount, checkList, checkName, checkPut, checkTtl } from "../check.ts";
import type { NamedValue, StoreListOptions, StoreValues, WriteConditions } from "../store.ts";
import { createIds, type RedisParts, ttlText } from "./redis-connection.ts";
import { decodeName, decodeText, encodeName, encodeText } from "./redis-scripts.ts";

/** Values as hashes of their text, their version and their group. */
export function redisValues(parts: RedisParts): StoreValues {
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
      const { ttlMs, group } = options;
      // First, so that there is no value that is not listed.
      if (group !== undefined) await groups.join(group, name);
      const id = newVersion();
      const limits = [ttlMs === undefined ? "" : ttlText(ttlMs), groups.mark(group)];
      const written = await change("put", {
        id,
        name,
        keys: ["value", "fence"],
        args: [encodeText(text), id, ...conditionsOf(options), ...limits],
      });
      return written === "1" ? id : undefined;
    },
    async touch(name, ttlMs) {
      checkName(name);
      checkTtl(ttlMs);
      return (await commands.run((redis) => redis.pexpire(keys(name, "value"), ttlText(ttlMs)))) === 1;
    },
    async delete(name, options = {}) {
      checkName(name);
      return (await change("delete", { name, keys: ["value", "fence"], args: conditionsOf(options) })) === "1";
    },
    async list(group, options = {}) {
      checkList(group, options);
      return groups.list(group, options);
    },
    async add(name, amount, ttlMs) {
      checkName(name);
      checkAmount(amount);
      checkTtl(ttlMs);
      return Number(await change("add", { name, keys: ["number"], args: [String(amount), ttlText(ttlMs)] }));
    },
  };
}

/** The version, as the scripts take it, and the fence. */
function conditionsOf({ version, fence }: WriteConditions): readonly string[] {
  const wanted = version === undefined ? "" : version === null ? "-" : `=${version}`;
  return [wanted, String(fence ?? "")];
}

/** Which names are listed where. */
interface RedisGroups {
  /** Lists a name, whose value is written next. */
  join(group: string, name: string): Promise<void>;
  /** What a value says of the group it is in. */
  mark(group: string | undefined): string;
  list(group: string, options: StoreListOptions): Promise<readonly NamedValue[]>;
}

const LIST_MAX = 100;
/** How many old members are looked after when one is added. More than one, so that none stay for ever. */
const SWEEP = 2;
/** How long a member may be without a value, beyond the time that a write takes. */
const GRACE_MS = 60_000;
/** For how long a member need not be added again: well within the time of grace. */
const FRESH_MS = GRACE_MS / 2;
const FRESH_MAX = 10_000;

/**
 * Groups as sorted sets of names, beside the times at which they were added.
 *
 * Values live elsewhere and vanish on their own. A member without a value is dropped when somebody comes across it: in a
 * list, or when others are added.
 */
function redisGroups({ keys, commands, waitMs }: RedisParts): RedisGroups {
  const grace = String(GRACE_MS + 2 * waitMs);
  const fresh = new Map<string, number>();

  const keysOf = (group: string): readonly string[] => [keys(group, "members"), keys(group, "added")];

  const find = async (group: string, member: string): Promise<NamedValue | undefined> => {
    const name = decodeName(member);
    const [text, version, marked] = await commands.run((redis) =>
      redis.hmget(keys(name, "value"), "text", "version", "group"),
    );
    if (typeof text !== "string" || typeof version !== "string" || marked !== mark(group)) return undefined;
    return { name, text: decodeText(text), version };
  };

  /** Drops those that are gone, and remembers that the others are not. Nobody waits for it. */
  const sweep = (group: string, members: readonly string[], found: readonly unknown[]): void => {
    const said = members.flatMap((member, index) => [member, found[index] === undefined ? "1" : "0"]);
    commands.script("sweep", [...keysOf(group), grace, ...said]).catch(() => {});
  };

  const lookAfter = async (group: string, members: readonly string[]): Promise<void> => {
    if (members.length > 0) sweep(group, members, await Promise.all(members.map((member) => find(group, member))));
  };

  return {
    mark,
    async join(group, name) {
      const [member, now] = [encodeName(name), performance.now()];
      const key = `${keys(group, "members")} ${member}`;
      if (now - (fresh.get(key) ?? Number.NEGATIVE_INFINITY) < FRESH_MS) return;
      const old = (await commands.script("join", [...keysOf(group), member, grace, String(SWEEP)])) as string[];
      if (fresh.size >= FRESH_MAX) fresh.clear();
      fresh.set(key, now);
      lookAfter(group, old).catch(() => {});
    },
    async list(group, { after, limit = LIST_MAX }) {
      const values: NamedValue[] = [];
      for (let start = after === undefined ? "-" : `(${encodeName(after)}`; ; ) {
        const members = await commands.run((redis) =>
          redis.zrangebylex(keys(group, "members"), start, "+", "LIMIT", 0, limit),
        );
        const found = await Promise.all(members.map((member) => find(group, member)));
        values.push(...found.filter((value) => value !== undefined));
        const gone = members.filter((_, index) => found[index] === undefined);
        if (gone.length > 0) sweep(group, gone, []);
        if (values.length >= limit || members.length < limit) return values.slice(0, limit);
        start = `(${members.at(-1)}`;
      }
    },
  };
}

function mark(group: string | undefined): string {
  return group === undefined ? "" : `=${encodeName(group)}`;
}
