import { asJson, type JsonObject } from "../json/json.ts";
import { McpError, toFailure } from "../model/errors.ts";
import type { ServerCapabilities } from "../model/peer.ts";
import { type Call, type Outcome, onAbort } from "../model/service.ts";
import { honoured, isWanted, type ListenFilter, notificationToChange } from "../model/subscription.ts";

/** Listening, for servers that announce changes to everybody and updates to subscribers. */
export interface Listeners {
  /** Stays open until the call is aborted. Several listeners of one resource share one subscription. */
  listen(call: Call<"subscriptions/listen">): Promise<Outcome<"subscriptions/listen">>;
  /** Hands a notification to whoever listens for it. False when nobody does. */
  hear(method: string, params: JsonObject): boolean;
}

export interface ListenersOptions {
  readonly capabilities: ServerCapabilities;
  request(method: string, params: JsonObject): Promise<JsonObject>;
}

interface Listener {
  readonly filter: ListenFilter;
  readonly call: Call;
}

export function createListeners({ request, capabilities }: ListenersOptions): Listeners {
  const listeners = new Set<Listener>();
  const users = new Map<string, number>();

  const subscribe = async (uri: string): Promise<void> => {
    const count = users.get(uri) ?? 0;
    users.set(uri, count + 1);
    if (count === 0) await request("resources/subscribe", { uri });
  };

  /** The server may be gone already; then there is nothing to unsubscribe from. */
  const unsubscribe = (uri: string): void => {
    const count = (users.get(uri) ?? 1) - 1;
    if (count > 0) return void users.set(uri, count);
    users.delete(uri);
    request("resources/unsubscribe", { uri }).catch(() => {});
  };

  return {
    async listen(call) {
      const filter = honoured(call.params.notifications, capabilities);
      const uris = filter.resourceSubscriptions ?? [];
      const listener = { filter, call };
      listeners.add(listener);
      try {
        await Promise.all(uris.map(subscribe));
      } catch (error) {
        listeners.delete(listener);
        for (const uri of uris) unsubscribe(uri);
        if (error instanceof McpError) return { kind: "failed", failure: toFailure(error) };
        throw error;
      }
      call.notify("notifications/subscriptions/acknowledged", { notifications: asJson(filter) });
      return new Promise((resolve) => {
        onAbort(call, () => {
          listeners.delete(listener);
          for (const uri of uris) unsubscribe(uri);
          resolve({ kind: "complete", result: {} });
        });
      });
    },
    hear(method, params) {
      const change = notificationToChange(method, params);
      if (change === undefined) return false;
      const wanting = [...listeners].filter(({ filter }) => isWanted(change, filter));
      for (const { call } of wanting) call.notify(method, params);
      return wanting.length > 0;
    },
  };
}
