import type { SamplingContent } from "../model/input.ts";

/**
 * Remembers what a provider wants back with a piece of content, such as the
 * thoughts that led to a call.
 *
 * It belongs to the very object, in this process: nobody else sees it, and
 * nothing from elsewhere can pretend to have it. A copy of the content has none.
 */
export interface Keepsakes<K> {
  /** The content itself. */
  keep<C extends SamplingContent>(content: C, keepsake: K): C;
  find(content: SamplingContent): K | undefined;
}

export function createKeepsakes<K>(): Keepsakes<K> {
  const kept = new WeakMap<SamplingContent, K>();
  return {
    keep(content, keepsake) {
      kept.set(content, keepsake);
      return content;
    },
    find: (content) => kept.get(content),
  };
}
