import { asJson } from "../../json/json.ts";
import type { Store } from "../../store/store.ts";

/** What happened to a task. After `gap`, anything may have. */
export type What = "answered" | "cancelled" | "changed" | "gap";

/** News of tasks, from all processes that share a store. */
export interface TaskNews {
  /** Never rejects: who misses it finds out by looking. */
  publish(id: string, what: Exclude<What, "gap">): Promise<void>;
  /** Hears of one task. Returns how to stop. */
  watch(id: string, heard: (what: What) => void): () => void;
  close(): Promise<void>;
}

const TOPIC = "tasks";

/** Resolves when it hears what is published from now on. */
export async function createTaskNews({ topics }: Store): Promise<TaskNews> {
  const watchers = new Map<string, Set<(what: What) => void>>();
  const subscription = await topics.subscribe(TOPIC);

  const tell = (id: string, what: What): void => {
    for (const heard of [...(watchers.get(id) ?? [])]) heard(what);
  };

  const listen = async (): Promise<void> => {
    for await (const message of subscription) {
      if (message.kind === "gap") for (const id of [...watchers.keys()]) tell(id, "gap");
      else {
        const { id, what } = JSON.parse(message.text);
        tell(id, what);
      }
    }
  };
  void listen();

  return {
    async publish(id, what) {
      await topics.publish(TOPIC, JSON.stringify(asJson({ id, what }))).catch(() => {});
    },
    watch(id, heard) {
      const hearers = watchers.get(id) ?? new Set();
      hearers.add(heard);
      watchers.set(id, hearers);
      return () => {
        if (hearers.delete(heard) && hearers.size === 0 && watchers.get(id) === hearers) watchers.delete(id);
      };
    },
    close: () => subscription.close(),
  };
}
