import { asJson } from "../json/json.ts";
import { McpError } from "../model/errors.ts";
import type { ServerCapabilities } from "../model/peer.ts";
import { type Call, type Outcome, onAbort } from "../model/service.ts";
import {
  type Announcement,
  type Change,
  changeToNotification,
  honoured,
  isWanted,
  type ListenFilter,
} from "../model/subscription.ts";
import type { Environment } from "./environment.ts";

/** The lists that clients can be told of. */
export type ListKind = "tools" | "prompts" | "resources";

export type Listen = Call<"subscriptions/listen">;
export type Listened = Outcome<"subscriptions/listen">;

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
}

/** What tells of changes beyond this process, and of tasks. */
export interface ChangeFeeds {
  /** Tells all processes of a change. */
  publish(change: Announcement): void;
  /** Listens to tasks, and where there are other processes to them; else as `join` does. */
  listen(listener: Listener, join: (listener: Listener) => () => void): Promise<Listened>;
}

export interface ChangesOptions {
  readonly env: Environment;
  capabilities(): ServerCapabilities;
  /** Loaded when there is more to it than what happens in this process. */
  background(): Promise<ChangeFeeds>;
}

export interface Listener {
  readonly filter: ListenFilter;
  readonly call: Listen;
}

export function createChanges({ env, capabilities, background }: ChangesOptions): Changes {
  const listeners = new Set<Listener>();
  const pending = new Set<ListKind>();
  // What others publish is listened to between requests.
  const isShared = env.isShared && !env.clock.requestBound;

  const publish = (change: Announcement): void => {
    if (isShared) return void background().then((it) => it.publish(change));
    const [method, params] = changeToNotification(change);
    for (const { filter, call } of listeners) if (isWanted(change, filter)) call.notify(method, params);
  };

  const flush = (): void => {
    const kinds = [...pending];
    pending.clear();
    for (const kind of kinds) if (missingCapability({ kind }, capabilities()) === undefined) publish({ kind });
  };

  const join = (listener: Listener): (() => void) => {
    acknowledge(listener);
    listeners.add(listener);
    return () => void listeners.delete(listener);
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
    listen(call) {
      const asked = call.params.notifications;
      const listener = { call, filter: honoured(asked, capabilities()) };
      if (isShared || asked.taskIds) return background().then((it) => it.listen(listener, join));
      return untilAborted(call, env, join(listener));
    },
  };
}

export function acknowledge({ call, filter }: Listener): void {
  call.notify("notifications/subscriptions/acknowledged", { notifications: asJson(filter) });
}

/** Where everything ends with its request, a call that came with none has nobody left who waits for its outcome. */
export function untilAborted(call: Listen, { clock }: Environment, leave: () => void): Promise<Listened> {
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
