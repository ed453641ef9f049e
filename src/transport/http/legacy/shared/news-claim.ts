import { partName } from "./session-shelf.ts";
import type { SharedRules } from "./shared-rules.ts";

/** How far a client has come: among the changes of the service, and in what else belongs to no call. */
export interface NewsPlace {
  readonly position: number;
  readonly aside: number;
  /** The stream it has come so far on, over however many connections. */
  readonly tag: string;
}

/** Who tells the client of the news, and where that began, or stopped. */
interface Claim extends NewsPlace {
  readonly owner: string | null;
}

/** Every message goes one way: however many streams wait for news, in whichever processes, one of them gets them. */
export interface NewsClaim {
  /**
   * Takes the news if nobody has them. Resolves to where to go on; undefined while another stream tells them. Who comes
   * back to the stream that has them takes its place.
   */
  take(last?: NewsPlace): Promise<NewsPlace | undefined>;
  /** Gives them back: another goes on from this place. */
  release(place: NewsPlace): Promise<void>;
}

/** `owner` begins with the id of the process, and a dot. `since` is where the first begins. */
export function createNewsClaim(rules: SharedRules, session: string, owner: string, since: number): NewsClaim {
  const { store, node, sessionTtlMs } = rules;
  const name = partName(session, "news");
  const ttl = sessionTtlMs > 0 ? { ttl: sessionTtlMs } : {};

  const put = async (claim: Claim, version: string | null): Promise<boolean> =>
    (await store.values.put(name, JSON.stringify(claim), { version, ...ttl })) !== undefined;

  const isTold = async ({ owner: now }: Claim): Promise<boolean> =>
    now !== null && now !== owner && (await node.isAlive(nodeOf(now)));

  /** Also who seems to be gone hears it: it may have been away. */
  const moveFrom = async ({ owner: before }: Claim): Promise<void> => {
    if (before !== null && before !== owner) await node.tell({ kind: "moved", session, owner: before });
  };

  /** Where nobody ever told them, a client that says where it stopped is believed. */
  const first = (last: NewsPlace | undefined): Claim => ({
    owner: null,
    position: since,
    aside: 0,
    tag: last?.tag ?? newTag(),
  });

  return {
    async take(last) {
      for (;;) {
        const value = await store.values.get(name);
        const now = readClaim(value?.text) ?? first(last);
        const isBack = last?.tag === now.tag;
        if (!isBack && (await isTold(now))) return undefined;
        const { position, aside } = isBack ? last : now;
        const place = { position, aside, tag: last?.tag ?? newTag() };
        if (!(await put({ owner, ...place }, value?.version ?? null))) continue;
        await moveFrom(now);
        return place;
      }
    },
    async release(place) {
      const value = await store.values.get(name);
      if (value === undefined || readClaim(value.text)?.owner !== owner) return;
      if (await put({ owner: null, ...place }, value.version)) await node.tell({ kind: "free", session });
    },
  };
}

function readClaim(text: string | undefined): Claim | undefined {
  return text === undefined ? undefined : JSON.parse(text);
}

/** Tells the streams of one session apart. */
function newTag(): string {
  return crypto.randomUUID().slice(0, 8);
}

function nodeOf(owner: string): string {
  return owner.slice(0, owner.indexOf("."));
}
