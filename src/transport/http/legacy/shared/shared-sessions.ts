import { type Store, StoreError } from "../../../../store/store.ts";
import { type HttpReply, sendAnswer } from "../../http-reply.ts";
import type { LegacyDoor, SessionsOptions } from "../sessions.ts";
import type { SharedDoor } from "./shared-door.ts";
import { unavailable } from "./shared-rules.ts";

export interface SharedSessionsOptions extends SessionsOptions {
  readonly store: Store | Promise<Store>;
}

/** Serves sessions that are in a store: any process that has the same store can go on with them. */
export function createSharedSessions(options: SharedSessionsOptions): LegacyDoor {
  let door: Promise<SharedDoor> | undefined;
  const open = (): Promise<SharedDoor> => {
    door ??= load(options);
    return door;
  };
  // Whoever needs it hears of it.
  if (options.store instanceof Promise) options.store.catch(() => {});

  /** Requests whose session is looked for. */
  const entering = new Set<Promise<void>>();
  const attempt = async (reply: HttpReply, work: (door: SharedDoor) => Promise<void>): Promise<void> => {
    try {
      await work(await open());
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
      await (await door?.catch(() => undefined))?.drain();
    },
  };
}

/** Most servers share nothing, and need none of this. */
async function load(options: SharedSessionsOptions): Promise<SharedDoor> {
  const { createSharedDoor } = await import("./shared-door.ts");
  return createSharedDoor(options, await options.store);
}
