import { session as sessionKey } from "../protocol/peer.ts";
import { createCall } from "../protocol/service.ts";
import type { SessionHooks } from "../protocol/session.ts";
import { digestText } from "../std/digest.ts";
import { LazyAbort } from "../std/lazy-abort.ts";
import { type Context, handlerJob } from "./context.ts";
import type { Environment } from "./environment.ts";
import type { ServerOptions } from "./options.ts";
import { createState } from "./state.ts";
import type { Session } from "./state-types.ts";

/** How long the state of a session is retained without use, in case its end is never detected. */
const SESSION_STATE_MS = 604_800_000;

/** What a server does about the sessions of its clients. */
export interface Sessions extends SessionHooks {
  /** Resolves when all that has begun is done. */
  close(): Promise<void>;
}

export function createSessions(
  env: Environment,
  { onConnect, onDisconnect }: Pick<ServerOptions, "onConnect" | "onDisconnect">,
): Sessions {
  const open = new Set<Promise<void>>();

  const track = (work: () => Promise<void>): Promise<void> => {
    const done = work()
      .catch((error: unknown) => void env.errors.failureOf(error, "initialize"))
      .finally(() => open.delete(done));
    open.add(done);
    return done;
  };

  /** Marks a session whose end was not reported yet: the process that deletes the mark reports it. */
  const sessionMark = async (id: string): Promise<string> =>
    `session-open:${await digestText(JSON.stringify([env.audience, id]))}`;

  const stateOf: SessionHooks["stateOf"] = (id) => createState(env, { of: "session", id, ttlMs: SESSION_STATE_MS });

  return {
    stateOf,
    begin: (client) =>
      track(async () => {
        const session = client.peer[sessionKey];
        if (session === undefined) return;
        if (onDisconnect !== undefined) {
          const { values } = await env.store.load();
          await values.put(await sessionMark(session.id), "", { ttlMs: SESSION_STATE_MS });
        }
        if (onConnect === undefined) return;
        const run = async (context: Context): Promise<void> => onConnect(session as Session, context);
        const notify = (): undefined => undefined;
        const call = createCall({ method: "server/discover", params: {}, ...client, notify, abort: new LazyAbort() });
        const finish = () => ({ kind: "complete", result: {} }) as never;
        await env.runner.runOnce(call, handlerJob(env, { method: "initialize", run, finish }));
      }),
    end: (id) =>
      track(async () => {
        // No state was ever saved here.
        if (!env.isShared && env.store.loaded === undefined) return;
        const state = stateOf(id);
        try {
          const { values } = await env.store.load();
          if (onDisconnect !== undefined && (await values.delete(await sessionMark(id)))) {
            await onDisconnect({ id, state } as Session);
          }
        } finally {
          await state.delete();
        }
      }),
    async close() {
      await Promise.all(open);
    },
  };
}
