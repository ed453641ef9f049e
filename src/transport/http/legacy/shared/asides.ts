import { isAway } from "../../../../store/store.ts";
import { partName } from "./session-shelf.ts";
import { ASIDE, type SharedRules } from "./shared-rules.ts";

/** What a session is told that belongs to no call: kept for whoever reads that, in whichever process. */
export interface Asides {
  /** Resolves when it is kept. Never rejects: what the store does not take is lost, and that is said. */
  tell(text: string): Promise<void>;
}

export function createAsides({ store, node, replayEvents, sessionTtlMs }: SharedRules, session: string): Asides {
  const limits = sessionTtlMs > 0 ? { keep: replayEvents, ttl: sessionTtlMs } : { keep: replayEvents };
  let told: Promise<void> = Promise.resolve();

  const keep = async (text: string): Promise<void> => {
    try {
      await store.streams.append(partName(session, ASIDE), [text], limits);
      await node.tell({ kind: "aside", session });
    } catch (error) {
      const why = isAway(error) ? "the store is away" : error;
      console.error("plugbay: a message to a client was not kept:", why);
    }
  };

  return {
    tell(text) {
      told = told.then(() => keep(text));
      return told;
    },
  };
}
