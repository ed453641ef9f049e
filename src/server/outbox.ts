import type { Clock } from "../std/clock.ts";

export interface OutboxOptions {
  /** Sends texts, in their order. When it rejects, all of them are sent again. */
  send(texts: readonly string[]): Promise<void>;
  readonly clock: Clock;
  /** Replaces all texts when too many are queued. */
  readonly everything: string;
  /** Called with texts that could not be sent now, each once, and the reason. */
  onDelay?(texts: readonly string[], error: unknown): void;
}

/** Texts on their way to a store. */
export interface Outbox {
  add(text: string): void;
  /** Tries once more to send what is queued. Never rejects. */
  close(): Promise<void>;
}

const RETRY_MS = 1_000;
const MAX_WAITING = 20_000;

/**
 * Sends texts in order. Texts that cannot be sent are queued, without duplicates, until the store is available; too
 * many of them are replaced by `everything`.
 */
export function createOutbox({ send, clock, everything, onDelay }: OutboxOptions): Outbox {
  let waiting: string[] = [];
  const late = new Set<string>();
  let sending: Promise<void> | undefined;
  let cancelRetry: (() => void) | undefined;
  let isClosed = false;

  const keep = (batch: readonly string[], error: unknown): void => {
    const fresh = batch.filter((text) => !late.has(text));
    for (const text of fresh) late.add(text);
    if (fresh.length > 0) onDelay?.(fresh, error);
    waiting = bounded([...new Set([...batch, ...waiting])]);
  };

  const bounded = (texts: string[]): string[] => (texts.length > MAX_WAITING ? [everything] : texts);

  /** False when some are left. */
  const sendAll = async (): Promise<boolean> => {
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      try {
        await send(batch);
      } catch (error) {
        keep(batch, error);
        return false;
      }
      late.clear();
    }
    return true;
  };

  const begin = (): void => {
    cancelRetry = undefined;
    sending = sendAll().then((isDone) => {
      sending = undefined;
      if (!isDone && !isClosed) cancelRetry = clock.after(RETRY_MS, begin);
    });
  };

  return {
    add(text) {
      waiting.push(text);
      waiting = bounded(waiting);
      if (sending === undefined && cancelRetry === undefined) begin();
    },
    async close() {
      isClosed = true;
      cancelRetry?.();
      await sending;
      await sendAll();
    },
  };
}
