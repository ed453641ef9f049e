import { asJson } from "../json/json.ts";
import { McpError } from "../model/errors.ts";
import type { ServerCapabilities } from "../model/peer.ts";
import { type Call, type Outcome, onAbort } from "../model/service.ts";
import { type Change, changeToNotification, honoured, isWanted, type ListenFilter } from "../model/subscription.ts";

/** Tells listeners what changed. */
export interface Changes {
  /** Announces a change. Throws `unsupported` when the server does not advertise such changes. */
  announce(change: Change): void;
  /** Announces a changed list to whoever asked, once for all changes of this turn; nothing when not advertised. */
  listChanged(kind: "tools" | "prompts" | "resources"): void;
  /** Stays open until the call is aborted. */
  listen(call: Call<"subscriptions/listen">): Promise<Outcome<"subscriptions/listen">>;
}

interface Listener {
  readonly filter: ListenFilter;
  readonly call: Call;
}

export function createChanges(capabilities: () => ServerCapabilities): Changes {
  const listeners = new Set<Listener>();
  const pending = new Set<"tools" | "prompts" | "resources">();

  const publish = (change: Change): void => {
    const [method, params] = changeToNotification(change);
    for (const { filter, call } of listeners) if (isWanted(change, filter)) call.notify(method, params);
  };

  return {
    announce(change) {
      const option = missingOption(change, capabilities());
      if (option !== undefined) {
        throw new McpError("unsupported", `cannot announce the change: createServer needs ${option}: true`);
      }
      publish(change);
    },
    listChanged(kind) {
      if (capabilities()[kind]?.listChanged !== true) return;
      if (pending.size === 0) {
        queueMicrotask(() => {
          const kinds = [...pending];
          pending.clear();
          for (const each of kinds) publish({ kind: each });
        });
      }
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

function missingOption(change: Change, capabilities: ServerCapabilities): string | undefined {
  if (change.kind === "resource") return capabilities.resources?.subscribe === true ? undefined : "subscribe";
  return capabilities[change.kind]?.listChanged === true ? undefined : "listChanged";
}
