import { asJson, type JsonObject } from "../json/json.ts";
import { type Failure, McpError, toFailure } from "../model/errors.ts";
import type { ServerCapabilities } from "../model/peer.ts";
import { type Call, type Outcome, onAbort } from "../model/service.ts";
import { type Change, honoured, isWanted, type ListenFilter, notificationToChange } from "../model/subscription.ts";
import { createSharedSubscriptions } from "./shared-subscriptions.ts";

type ListenOutcome = Outcome<"subscriptions/listen">;

/** Listening, for servers that announce changes to everybody and updates to subscribers. */
export interface Listeners {
  /** Stays open until the call is aborted. Several listeners of one resource share one subscription. */
  listen(call: Call<"subscriptions/listen">): Promise<ListenOutcome>;
  /** Hands a notification to whoever listens for it. False when nobody does. */
  hear(method: string, params: JsonObject): boolean;
  /** Tells a server that has forgotten it what is listened to. Rejects when it refuses something. */
  renew(): Promise<void>;
  /** Fails every call that listens. */
  close(failure: Failure): void;
}

export interface ListenersOptions {
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
      const news = createNews(call);

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
    hear(method, params) {
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

/** What one listener is told: first what it will hear of, then what came meanwhile, then what comes. */
function createNews(call: Call) {
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
