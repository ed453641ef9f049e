import { asJson } from "../json/json.ts";
import { McpError } from "../model/errors.ts";
import type { ServerCapabilities } from "../model/peer.ts";
import { type Call, type Outcome, onAbort } from "../model/service.ts";
import { type Change, changeToNotification, honoured, isWanted, type ListenFilter } from "../model/subscription.ts";

/** The lists that clients can be told of. */
export type ListKind = Exclude<Change["kind"], "resource">;

/** Tells listeners what changed. */
export interface Changes {
  /** Announces a change. Throws `unsupported` when the server does not advertise such changes. */
  announce(change: Change): void;
  /** Announces a changed list to whoever asked, once for all changes of this turn; nothing when not advertised. */
  listChanged(kind: ListKind): void;
  /** Stays open until the call is aborted. */
  listen(call: Call<"subscriptions/listen">): Promise<Outcome<"subscriptions/listen">>;
}

interface Listener {
  readonly filter: ListenFilter;
  readonly call: Call;
}

export function createChanges(capabilities: () => ServerCapabilities): Changes {
  const listeners = new Set<Listener>();
  const pending = new Set<ListKind>();

  const publish = (change: Change): void => {
    const [method, params] = changeToNotification(change);
    for (const { filter, call } of listeners) if (isWanted(change, filter)) call.notify(method, params);
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
    listChanged(kind) {
      if (pending.size === 0) queueMicrotask(flush);
      pending.add(kind);
    },
    listen(call) {
      const filter = honoured(call.params.notifications, capabilities());
      call.notify("notifications/subscriptions/acknowledged", { notifications: asJson(filter) });
      const listener = { filter, call };
      listeners.add(listener);
      return new Promise((resolve) => {
        onAbort(call, () => {
          listeners.delete(listener);
          resolve({ kind: "complete", result: {} });
        });
      });
    },
  };
}

/** What a server must advertise to announce a change, if it does not. */
function missingCapability(change: Change, capabilities: ServerCapabilities): string | undefined {
  if (change.kind === "resource") return capabilities.resources?.subscribe ? undefined : "resources.subscribe";
  return capabilities[change.kind]?.listChanged ? undefined : `${change.kind}.listChanged`;
}
