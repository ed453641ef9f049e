import { McpError } from "../protocol/errors.ts";
import type { ServerCapabilities } from "../protocol/peer.ts";
import type { Announcement, Change, Message } from "../protocol/subscription.ts";
import { type Lazy, lazy } from "../std/lazy.ts";
import type { AudibleTasks, Listen, Listening, ListeningOptions } from "./listening.ts";

/** Lists whose changes can be announced. */
export type ListKind = "tools" | "prompts" | "resources";

/** Notifies listeners of changes. */
export interface Changes {
  /** Announces a change. Throws `unsupported` when the server does not advertise such changes. */
  announce(change: Exclude<Change, { kind: "task" }>): void;
  /** Notifies the client that was asked to open a page that its user is done with it. */
  complete(elicitationId: string): void;
  /** Sends a message that belongs to no call to clients with sessions. */
  say(message: Message): void;
  /** Announces a changed list, once for all changes of this turn; nothing when not advertised. */
  listChanged(kind: ListKind): void;
  /** Stays open until the call is aborted. */
  listen(call: Listen): Promise<AudibleTasks>;
  /** Ends all subscriptions. */
  close(): Promise<void>;
}

export function createChanges(options: ListeningOptions): Changes {
  const { env, capabilities } = options;
  const listening: Lazy<Listening> = lazy(
    () => import("./listening.ts"),
    ({ createListening }) => createListening(options),
  );
  const pending = new Set<ListKind>();
  /** Others may listen to a store that they share. */
  let isHeard = env.isShared && !env.clock.requestBound;

  const publish = (change: Announcement): void => {
    if (isHeard) void listening.load().then((it) => it.publish(change));
  };

  const flush = (): void => {
    const kinds = [...pending];
    pending.clear();
    for (const kind of kinds) if (missingCapability({ kind }, capabilities()) === undefined) publish({ kind });
  };

  return {
    announce(change) {
      const missing = missingCapability(change, capabilities());
      if (missing !== undefined) {
        throw new McpError("unsupported", `cannot announce the change: the server does not advertise ${missing}`);
      }
      publish(change);
    },
    complete: (elicitationId) => publish({ kind: "elicitation", elicitationId }),
    say: publish,
    listChanged(kind) {
      if (pending.size === 0) queueMicrotask(flush);
      pending.add(kind);
    },
    listen(call) {
      isHeard = true;
      const { loaded } = listening;
      return loaded === undefined ? listening.load().then((it) => it.listen(call)) : loaded.listen(call);
    },
    close: async () => (await listening.settled())?.close(),
  };
}

/** What a server must advertise to announce a change, if it does not. */
function missingCapability(change: Exclude<Change, { kind: "task" }>, has: ServerCapabilities): string | undefined {
  if (change.kind === "resource") return has.resources?.subscribe ? undefined : "resources.subscribe";
  return has[change.kind]?.listChanged ? undefined : `${change.kind}.listChanged`;
}
