import { partName } from "./session-shelf.ts";
import type { SharedRules } from "./shared-rules.ts";

/** How far a client has come: among the changes of the service, and in what else belongs to no call. */
export interface NewsPlace {
  readonly position: number;
  readonly aside: number;
}

/** Who tells the client of the news, and where that began, or stopped. */
interface Claim extends NewsPlace {
  readonly owner: string | null;
}

/** Every message goes one way: however many streams wait for news, in whichever processes, one of them gets them. */
export interface NewsClaim {
  /**
   * Takes the news if nobody has them. Resolves to where to go on; undefined while somebody else tells them. Who knows
   * where it stopped takes them in any case.
   */
  take(place?: NewsPlace): Promise<NewsPlace | undefined>;
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

  /** Who has them now, if it is another that lives. */
  const otherOf = async ({ owner: now }: Claim): Promise<string | undefined> =>
    now !== null && now !== owner && (await node.isAlive(nodeOf(now))) ? now : undefined;

  const moveFrom = async (other: string | undefined): Promise<void> => {
    if (other !== undefined) await node.tell({ kind: "moved", session, owner: other });
  };

  return {
    async take(place) {
      for (;;) {
        const value = await store.values.get(name);
        const now = readClaim(value?.text) ?? { owner: null, position: since, aside: 0 };
        const other = await otherOf(now);
        if (place === undefined && other !== undefined) return undefined;
        const { position, aside } = place ?? now;
        if (!(await put({ owner, position, aside }, value?.version ?? null))) continue;
        await moveFrom(other);
        return { position, aside };
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

function nodeOf(owner: string): string {
  return owner.slice(0, owner.indexOf("."));
}
