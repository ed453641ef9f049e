import { McpError } from "../protocol/errors.ts";
import type { ServerCapabilities } from "../protocol/peer.ts";
import { type Call, type Outcome, onAbort } from "../protocol/service.ts";
import { type Announcement, type Change, honoured } from "../protocol/subscription.ts";
import { type Lazy, lazy } from "../std/lazy.ts";
import type { ChangeLog } from "./change-log.ts";
import type { Environment } from "./environment.ts";
import type { Watching } from "./tasks/watch-tasks.ts";

/** The lists that clients can be told of. */
export type ListKind = "tools" | "prompts" | "resources";

type Listen = Call<"subscriptions/listen">;
type Listened = Outcome<"subscriptions/listen">;

/** Tells listeners what changed. */
export interface Changes {
  /** Announces a change. Throws `unsupported` when the server does not advertise such changes. */
  announce(change: Exclude<Change, { kind: "task" }>): void;
  /** Tells the client that was asked to open a page that its user is done with it. */
  complete(elicitationId: string): void;
  /** Announces a changed list to whoever asked, once for all changes of this turn; nothing when not advertised. */
  listChanged(kind: ListKind): void;
  /** Stays open until the call is aborted. */
  listen(call: Listen): Promise<Listened>;
  /** Tells nobody any more. */
  close(): Promise<void>;
}

export interface ChangesOptions {
  readonly env: Environment;
  capabilities(): ServerCapabilities;
  hasTasks(): boolean;
  /** Finds the tasks that a caller may hear of. Loaded for the first who wants to. */
  tasks(): Promise<{ watch(call: Call, ids: readonly string[]): Promise<Watching> }>;
}

export function createChanges({ env, capabilities, hasTasks, tasks }: ChangesOptions): Changes {
  const log: Lazy<ChangeLog> = lazy(
    () => import("./lazy-parts.ts"),
    ({ createChangeLog }) => createChangeLog(env),
  );
  const pending = new Set<ListKind>();
  /** Others may listen to a store that they share. */
  let isHeard = env.isShared && !env.clock.requestBound;

  const publish = (change: Announcement): void => {
    if (isHeard) void log.load().then((it) => it.publish(change));
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
    listChanged(kind) {
      if (pending.size === 0) queueMicrotask(flush);
      pending.add(kind);
    },
    async listen(call) {
      isHeard = true;
      const { notifications } = call.params;
      const { taskIds = [] } = notifications;
      const watching = hasTasks() && taskIds.length > 0 ? await (await tasks()).watch(call, taskIds) : undefined;
      const filter = { ...honoured(notifications, capabilities()), ...(watching && { taskIds: watching.ids }) };
      const leave = await (await log.load()).join({ call, filter });
      const unwatch = watching?.begin(call);
      return untilAborted(call, env, () => {
        leave();
        unwatch?.();
      });
    },
    close: async () => (await log.settled())?.close(),
  };
}

/** Where everything ends with its request, a call that came with none has nobody left who waits for its outcome. */
function untilAborted(call: Listen, { clock }: Environment, leave: () => void): Promise<Listened> {
  const isAwaited = !clock.requestBound || call.http;
  return new Promise((resolve) => {
    onAbort(call, () => {
      leave();
      if (isAwaited) resolve({ kind: "complete", result: {} });
    });
  });
}

/** What a server must advertise to announce a change, if it does not. */
function missingCapability(change: Exclude<Change, { kind: "task" }>, has: ServerCapabilities): string | undefined {
  if (change.kind === "resource") return has.resources?.subscribe ? undefined : "resources.subscribe";
  return has[change.kind]?.listChanged ? undefined : `${change.kind}.listChanged`;
}
