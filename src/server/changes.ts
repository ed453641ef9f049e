import { asJson } from "../json/json.ts";
import { McpError } from "../model/errors.ts";
import type { ServerCapabilities } from "../model/peer.ts";
import { type Call, type Outcome, onAbort } from "../model/service.ts";
import { type Change, changeToNotification, honoured, isWanted, type ListenFilter } from "../model/subscription.ts";
import type { Background } from "./background.ts";
import type { Environment } from "./environment.ts";

/** The lists that clients can be told of. */
export type ListKind = "tools" | "prompts" | "resources";

export type Listen = Call<"subscriptions/listen">;
export type Listened = Outcome<"subscriptions/listen">;

/** Tells listeners what changed. */
export interface Changes {
  /** Announces a change. Throws `unsupported` when the server does not advertise such changes. */
  announce(change: Exclude<Change, { kind: "task" }>): void;
  /** Announces a changed list to whoever asked, once for all changes of this turn; nothing when not advertised. */
  listChanged(kind: ListKind): void;
  /** Stays open until the call is aborted. */
  listen(call: Listen): Promise<Listened>;
}

export interface ChangesOptions {
  readonly env: Environment;
  capabilities(): ServerCapabilities;
  /** Loaded when there is more to it than what happens in this process. */
  background(): Promise<Background>;
}

export interface Listener {
  readonly filter: ListenFilter;
  readonly call: Listen;
}

export function createChanges({ env, capabilities, background }: ChangesOptions): Changes {
  const listeners = new Set<Listener>();
  const pending = new Set<ListKind>();

  const publish = (change: Change): void => {
    if (env.store !== undefined) return void background().then((it) => it.publish(change));
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
    listChanged(kind) {
      if (pending.size === 0) queueMicrotask(flush);
      pending.add(kind);
    },
    listen(call) {
      const asked = call.params.notifications;
      const listener = { call, filter: honoured(asked, capabilities()) };
      if (env.store !== undefined || asked.taskIds) return background().then((it) => it.listen(listener, join));
      return untilAborted(call, join(listener));
    },
  };
}

export function acknowledge({ call, filter }: Listener): void {
  call.notify("notifications/subscriptions/acknowledged", { notifications: asJson(filter) });
}

export function untilAborted(call: Listen, leave: () => void): Promise<Listened> {
  return new Promise((resolve) => {
    onAbort(call, () => {
      leave();
      resolve({ kind: "complete", result: {} });
    });
  });
}

/** What a server must advertise to announce a change, if it does not. */
function missingCapability(change: Exclude<Change, { kind: "task" }>, has: ServerCapabilities): string | undefined {
  if (change.kind === "resource") return has.resources?.subscribe ? undefined : "resources.subscribe";
  return has[change.kind]?.listChanged ? undefined : `${change.kind}.listChanged`;
}
