import type { ListOptions, NamedValue } from "../store.ts";
import { decodeName, decodeText, encodeName } from "./redis-names.ts";
import type { RedisParts } from "./redis-parts.ts";

/** Which names are listed where. */
export interface RedisGroups {
  /** Lists a name, whose value is written next. */
  join(group: string, name: string): Promise<void>;
  /** What a value says of the group it is in. */
  mark(group: string | undefined): string;
  list(group: string, options: ListOptions): Promise<readonly NamedValue[]>;
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
export function redisGroups({ keys, commands, waitMs }: RedisParts): RedisGroups {
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
