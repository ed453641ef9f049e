import { lazy } from "../../std/lazy.ts";
import { StoreError } from "../../store/store.ts";
import { type HttpReply, sendAnswer } from "../../transport/http/http-message.ts";
import type { LegacyHandler } from "../../transport/http/legacy-handlers.ts";
import type { SharedDoor, SharedSessionsOptions } from "./session-handler.ts";
import { unavailable } from "./session-rules.ts";

/** Serves sessions that are in a store: any process that has the same store can go on with them. */
export function createSharedSessions(options: SharedSessionsOptions): LegacyHandler {
  // Most servers share nothing, and need none of this.
  const lazyDoor = lazy(
    async () => ({ ...(await import("./session-handler.ts")), store: await options.store }),
    ({ createSharedDoor, store }) => createSharedDoor(options, store),
  );

  /** Requests whose session is looked for. */
  const entering = new Set<Promise<void>>();
  const attempt = async (reply: HttpReply, work: (door: SharedDoor) => Promise<void>): Promise<void> => {
    try {
      await work(await lazyDoor.load());
    } catch (error) {
      if (!(error instanceof StoreError)) console.error("plugbay: a session failed:", error);
      sendAnswer(reply, unavailable);
    }
  };
  const serve = (reply: HttpReply, work: (door: SharedDoor) => Promise<void>): void => {
    const entry = attempt(reply, work)
      // It was answered before it failed.
      .catch(() => {})
      .finally(() => entering.delete(entry));
    entering.add(entry);
  };

  return {
    post: (message, head, reply) => serve(reply, (shared) => shared.post(message, head, reply)),
    get: (head, reply) => serve(reply, (shared) => shared.get(head, reply)),
    delete: (head, reply) => serve(reply, (shared) => shared.delete(head, reply)),
    async drain() {
      await Promise.all(entering);
      await (await lazyDoor.settled())?.drain();
    },
  };
}
