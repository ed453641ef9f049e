import { asJson, type JsonObject } from "../../json/json.ts";
import { type Failure, McpError, toFailure } from "../../protocol/errors.ts";
import type { ServerCapabilities } from "../../protocol/peer.ts";
import { type Call, type Outcome, onAbort } from "../../protocol/service.ts";
import {
  type Change,
  honoured,
  isWanted,
  type ListenFilter,
  notificationToChange,
} from "../../protocol/subscription.ts";

type ListenOutcome = Outcome<"subscriptions/listen">;

/** Subscriptions for servers that send list changes to all clients and updates to subscribers. */
interface Listeners {
  /** Stays open until the call is aborted. Several listeners of one resource share one subscription. */
  listen(call: Call<"subscriptions/listen">): Promise<ListenOutcome>;
  /** Passes a notification to its listeners. False when there are none. */
  onNotification(method: string, params: JsonObject): boolean;
  /** Repeats subscriptions to a server that has lost them. Rejects when it refuses one. */
  renew(): Promise<void>;
  /** Fails every call that listens. */
  close(failure: Failure): void;
}

interface ListenersOptions {
  readonly capabilities: ServerCapabilities;
  /** Sends a request to the server; rejects with an `McpError` when it fails. */
  request(method: string, params: JsonObject): Promise<JsonObject>;
  /** Resolves when what the server says by itself can arrive. Default: it always can. */
  readonly listening?: Promise<void> | undefined;
}

interface Listener {
  readonly filter: ListenFilter;
  tell(method: string, params: JsonObject): void;
  end(outcome: ListenOutcome): void;
}

export function createListeners({ request, capabilities, listening }: ListenersOptions): Listeners {
  const listeners = new Set<Listener>();
  const subscriptions = createSharedSubscriptions(request);

  return {
    listen(call) {
      const filter = honoured(call.params.notifications, capabilities);
      const held = (filter.resourceSubscriptions ?? []).map(subscriptions.join);
      const news = createChangeFilter(call);

      return new Promise((resolve) => {
        const listener: Listener = {
          filter: { ...filter, ...tasksIn(call.params.notifications) },
          tell: news.tell,
          end(outcome) {
            if (!listeners.delete(listener)) return;
            for (const subscription of held) subscription.leave();
            resolve(outcome);
          },
        };
        listeners.add(listener);
        onAbort(call, () => listener.end({ kind: "complete", result: {} }));
        Promise.all([listening, ...held.map(({ confirmed }) => confirmed)]).then(
          () => listeners.has(listener) && news.open(filter),
          (error: unknown) => listener.end({ kind: "failed", failure: failureOf(error) }),
        );
      });
    },
    onNotification(method, params) {
      const change = notificationToChange(method, params);
      if (change === undefined) return false;
      const exact = [...listeners].filter(({ filter }) => isWanted(change, filter));
      const wanting = exact.length > 0 ? exact : [...listeners].filter(({ filter }) => holdsPart(change, filter));
      for (const { tell } of wanting) tell(method, params);
      return wanting.length > 0;
    },
    renew: subscriptions.renew,
    close(failure) {
      for (const listener of [...listeners]) listener.end({ kind: "failed", failure });
    },
  };
}

/** A server may tell of tasks, and need not: that it will cannot be confirmed. */
function tasksIn({ taskIds }: ListenFilter): ListenFilter {
  return taskIds === undefined ? {} : { taskIds };
}

/** The notifications of one listener: first the acknowledgement, then those that came meanwhile, then new ones. */
function createChangeFilter(call: Call) {
  let early: (() => void)[] | undefined = [];

  return {
    tell(method: string, params: JsonObject): void {
      if (early === undefined) call.notify(method, params);
      else early.push(() => call.notify(method, params));
    },
    open(filter: ListenFilter): void {
      call.notify("notifications/subscriptions/acknowledged", { notifications: asJson(filter) });
      for (const send of early ?? []) send();
      early = undefined;
    },
  };
}

/** True when what changed lies inside a resource that is listened to, such as a file in a folder. */
function holdsPart(change: Change, { resourceSubscriptions = [] }: ListenFilter): boolean {
  if (change.kind !== "resource") return false;
  return resourceSubscriptions.some((whole) => {
    const rest = change.uri.startsWith(whole) ? change.uri.slice(whole.length) : "";
    return rest !== "" && (whole.endsWith("/") || /^[/?#]/.test(rest));
  });
}

function failureOf(error: unknown): Failure {
  return error instanceof McpError ? toFailure(error) : { code: "internal", message: "cannot subscribe" };
}

/** A share in the subscription to one resource. */
interface SharedSubscription {
  /** Resolves when the server has confirmed. Rejects with its refusal. */
  readonly confirmed: Promise<unknown>;
  /** Gives up the share. The last one to leave unsubscribes. Call it once. */
  leave(): void;
}

/** Subscriptions to resources, with one on the wire for all listeners. */
interface SharedSubscriptions {
  join(uri: string): SharedSubscription;
  /** Subscribes again to everything, at a server that has forgotten it. Rejects when it refuses something. */
  renew(): Promise<void>;
}

export function createSharedSubscriptions(
  request: (method: string, params: JsonObject) => Promise<unknown>,
): SharedSubscriptions {
  const active = new Map<string, { readonly confirmed: Promise<unknown>; users: number }>();

  const start = (uri: string) => {
    const entry = { confirmed: request("resources/subscribe", { uri }), users: 0 };
    active.set(uri, entry);
    entry.confirmed.catch(() => forget(uri, entry));
    return entry;
  };

  /** Only what is still there: a newer subscription to the same resource stays. */
  const forget = (uri: string, entry: object): void => {
    if (active.get(uri) === entry) active.delete(uri);
  };

  /** Whoever subscribed again meanwhile keeps the subscription. A server that is gone, or refused, has none. */
  const unsubscribe = async (uri: string, confirmed: Promise<unknown>): Promise<void> => {
    try {
      await confirmed;
      if (!active.has(uri)) await request("resources/unsubscribe", { uri });
    } catch {
      return;
    }
  };

  return {
    join(uri) {
      const entry = active.get(uri) ?? start(uri);
      entry.users++;
      return {
        confirmed: entry.confirmed,
        leave() {
          if (--entry.users > 0) return;
          forget(uri, entry);
          void unsubscribe(uri, entry.confirmed);
        },
      };
    },
    async renew() {
      await Promise.all([...active.keys()].map((uri) => request("resources/subscribe", { uri })));
    },
  };
}
