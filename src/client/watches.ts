import type { DiscoverResult } from "../model/methods.ts";
import type { Change, ListenFilter } from "../model/subscription.ts";
import { unsupported } from "./calls.ts";
import { type Listener, listen, type Watch, type WatchOptions } from "./listen.ts";

/** Kinds of lists to hear of. */
export interface ChangeKinds {
  readonly tools?: boolean;
  readonly prompts?: boolean;
  readonly resources?: boolean;
}

/** The ways to hear of changes on one server. What it does not announce fails with `unsupported`, without asking it. */
export interface Watches {
  watch(uri: string, options?: WatchOptions): Watch<{ readonly uri: string }>;
  changes(kinds?: ChangeKinds, options?: WatchOptions): Watch<Change>;
}

export function createWatches(server: DiscoverResult, listener: Listener): Watches {
  const { resources } = server.capabilities;
  const announced = kinds.filter((kind) => server.capabilities[kind]?.listChanged === true);
  const refuse = (capability: string) => unsupported(server, "subscriptions/listen", capability);

  return {
    watch(uri, options) {
      const refusal = resources?.subscribe === true ? undefined : refuse("resources.subscribe");
      const pick = (change: Change) => ({ uri: change.kind === "resource" ? change.uri : uri });
      return listen(listener, { filter: { resourceSubscriptions: [uri] }, pick, refusal }, options);
    },
    changes(wanted, options) {
      const named = kinds.filter((kind) => wanted?.[kind] === true);
      const asked = named.length > 0 ? named : announced;
      const missing = asked.filter((kind) => !announced.includes(kind)).map((kind) => `${kind}.listChanged`);
      const refusal =
        asked.length === 0 || missing.length > 0 ? refuse(missing.join(", ") || "listChanged") : undefined;
      return listen(listener, { filter: filterOf(asked), pick: (change) => change, refusal }, options);
    },
  };
}

type Kind = keyof ChangeKinds;

const kinds: readonly Kind[] = ["tools", "prompts", "resources"];

function filterOf(asked: readonly Kind[]): ListenFilter {
  return {
    ...(asked.includes("tools") && { toolsListChanged: true }),
    ...(asked.includes("prompts") && { promptsListChanged: true }),
    ...(asked.includes("resources") && { resourcesListChanged: true }),
  };
}
