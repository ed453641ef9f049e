import { checkAppend, checkCount, checkName } from "../check.ts";
import type { StoreStreams, StreamPage } from "../store.ts";
import { type RedisParts, ttlText } from "./redis-connection.ts";
import { decodeText, encodeText } from "./redis-scripts.ts";

const READ_MAX = 1_000;

/** Entries of a Redis stream, each with its fields and their values in turn. */
type Entries = readonly (readonly [id: string, fields: readonly string[]])[];

/** Streams as Redis streams whose ids are the positions. The last position is kept beside them. */
export function redisStreams({ keys, commands, change }: RedisParts): StoreStreams {
  return {
    async append(name, texts, options = {}) {
      checkAppend(name, options);
      const { fence, ttlMs, keep } = options;
      const limits = [fence ?? "", ttlMs === undefined ? "" : ttlText(ttlMs), keep ?? ""].map(String);
      const last = await change("append", {
        name,
        keys: ["stream", "position", "fence"],
        args: [...limits, ...texts.map(encodeText)],
      });
      return last === "-" ? undefined : Number(last);
    },
    async read(name, after, limit = READ_MAX) {
      checkName(name);
      checkCount("a position", after, 0);
      checkCount("a limit", limit, 1);
      const [last, entries] = (await commands.script("read", [
        keys(name, "stream"),
        keys(name, "position"),
        String(after + 1),
        String(limit),
      ])) as [string, Entries];
      return readingOf(after, Number(last), entries);
    },
    async trim(name, through) {
      checkName(name);
      checkCount("a position", through, 0);
      await commands.run((redis) => redis.xtrim(keys(name, "stream"), "MINID", String(through + 1)));
    },
    async delete(name) {
      checkName(name);
      await change("forget", { name, keys: ["stream", "position"], args: [] });
    },
  };
}

function readingOf(after: number, last: number, entries: Entries): StreamPage {
  const events = entries.map(([id, fields]) => ({
    position: Number.parseInt(id, 10),
    text: decodeText(fields[1] ?? ""),
  }));
  const next = events[0]?.position ?? last + 1;
  return { events, last, lost: after > last || (after < last && next > after + 1) };
}
