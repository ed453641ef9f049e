import type { ServerCapabilities } from "../protocol/peer.ts";
import { type Call, type Outcome, onAbort } from "../protocol/service.ts";
import { type Announcement, honoured } from "../protocol/subscription.ts";
import type { Awaitable } from "../std/awaitable.ts";
import { type Lazy, lazy } from "../std/lazy.ts";
import { visibility } from "./access.ts";
import type { Accessible } from "./accessible.ts";
import { createChangeLog } from "./change-log.ts";
import type { Environment } from "./environment.ts";
import type { ResourceRegistry } from "./resources.ts";
import type { Watching } from "./tasks/watch-tasks.ts";
import type { WatcherHooks, Watchers } from "./watchers.ts";

export type Listen = Call<"subscriptions/listen">;
export type AudibleTasks = Outcome<"subscriptions/listen">;

/** Notifies callers of changes. Loaded with the first subscription. */
export interface Listening {
  /** Publishes a change. Changes of one process reach all listeners in their order. */
  publish(change: Announcement): void;
  /** Stays open until the call is aborted. */
  listen(call: Listen): Promise<AudibleTasks>;
  /** Ends all watchers. */
  close(): Promise<void>;
}

export interface ListeningOptions {
  readonly env: Environment;
  capabilities(): ServerCapabilities;
  hasTasks(): boolean;
  readonly hooks: WatcherHooks;
  resources(): Pick<ResourceRegistry, "fixed" | "templates">;
  /** Finds the tasks that a caller may watch. Loaded with the first such subscription. */
  tasks(): Promise<{ watch(call: Call, ids: readonly string[]): Promise<Watching> }>;
}

export function createListening(options: ListeningOptions): Listening {
  const { env, capabilities, hasTasks, tasks, hooks, resources } = options;
  const log = createChangeLog(env);
  const watchers: Lazy<Watchers> = lazy(
    () => import("./watchers.ts"),
    ({ createWatchers }) => createWatchers(env, hooks),
  );
  const isWatched = hooks.onSubscribe !== undefined || hooks.onUnsubscribe !== undefined;

  return {
    publish: log.publish,
    async listen(call) {
      const { resourceSubscriptions: uris = [] } = call.params.notifications;
      const allowed = audible(call, uris, resources(), env);
      const resourceSubscriptions = allowed instanceof Promise ? await allowed : allowed;
      const notifications = { ...call.params.notifications, resourceSubscriptions };
      const { taskIds = [] } = notifications;
      const watching = hasTasks() && taskIds.length > 0 ? await (await tasks()).watch(call, taskIds) : undefined;
      const filter = { ...honoured(notifications, capabilities()), ...(watching && { taskIds: watching.ids }) };
      const leave = await log.join({ call, filter });
      const unwatch = watching?.begin(call);
      const { resourceSubscriptions: heard = [] } = filter;
      const unsubscribe = isWatched && heard.length > 0 ? (await watchers.load()).add(heard, call) : undefined;
      return untilAborted(call, env, () => {
        leave();
        unwatch?.();
        unsubscribe?.();
      });
    },
    async close() {
      await (await watchers.settled())?.close();
      await log.close();
    },
  };
}

/** The URIs whose updates the caller may receive: those without a definition, and those that it may read. */
function audible(
  call: Listen,
  uris: readonly string[],
  { fixed, templates }: Pick<ResourceRegistry, "fixed" | "templates">,
  env: Environment,
): Awaitable<readonly string[]> {
  if (uris.length === 0 || !(isForSome(fixed.values()) || isForSome(templates.values()))) return uris;
  const definitionsOf = (uri: string): readonly Accessible[] => {
    const exact = fixed.get(uri);
    if (exact !== undefined) return [exact.definition];
    return templates.values().flatMap(({ match, definition }) => (match(uri) === undefined ? [] : [definition]));
  };
  return visibility.load().then(({ listAudible }) => listAudible(call, uris, { env, definitionsOf }));
}

function isForSome(all: readonly { readonly definition: Accessible }[]): boolean {
  return all.some(({ definition: { visible, scopes } }) => visible !== undefined || scopes !== undefined);
}

/** Where everything ends with its request, a call without a request has no reader for its outcome. */
function untilAborted(call: Listen, { clock }: Environment, leave: () => void): Promise<AudibleTasks> {
  const isAwaited = !clock.requestBound || call.http;
  return new Promise((resolve) => {
    onAbort(call, () => {
      leave();
      if (isAwaited) resolve({ kind: "complete", result: {} });
    });
  });
}
