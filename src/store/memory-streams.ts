import { checkAppend, checkCount, checkName } from "./check.ts";
import type { Expiry } from "./expiring-map.ts";
import type { MemoryLeases } from "./memory-leases.ts";
import type { StoreStreams, StreamPage } from "./store.ts";

/** The events that are kept, and the position of the last one there ever was. */
interface Stream {
  readonly texts: string[];
  last: number;
  /** When it is forgotten. */
  due: number;
}

const READ_MAX = 1_000;

export interface MemoryParts {
  readonly expiry: Expiry;
  readonly leases: MemoryLeases;
  /** Throws when the store is closed. */
  ensureOpen(): void;
}

export function memoryStreams({ expiry, leases, ensureOpen }: MemoryParts): StoreStreams {
  const streams = expiry.newMap<Stream>();

  return {
    append(name, texts, options = {}) {
      ensureOpen();
      checkAppend(name, options);
      if (!leases.allows(name, options.fence)) return undefined;
      const stream = streams.get(name) ?? { texts: [], last: 0, due: Number.NaN };
      for (const text of texts) stream.texts.push(text);
      stream.last += texts.length;
      dropOldest(stream, stream.texts.length - (options.keep ?? Number.POSITIVE_INFINITY));
      const due = expiry.after(options.ttlMs);
      if (due !== stream.due) {
        stream.due = due;
        streams.set(name, stream, due);
      }
      return stream.last;
    },
    read(name, after, limit = READ_MAX) {
      ensureOpen();
      checkName(name);
      checkCount("a position", after, 0);
      checkCount("a limit", limit, 1);
      return readStream(streams.get(name), after, limit);
    },
    trim(name, through) {
      ensureOpen();
      checkName(name);
      checkCount("a position", through, 0);
      const stream = streams.get(name);
      if (stream !== undefined) dropOldest(stream, through - dropped(stream));
    },
    delete(name) {
      ensureOpen();
      checkName(name);
      streams.delete(name);
    },
  };
}

/** The position before the oldest event that is kept. */
function dropped({ texts, last }: Stream): number {
  return last - texts.length;
}

function dropOldest({ texts }: Stream, count: number): void {
  if (count > 0) texts.splice(0, count);
}

function readStream(stream: Stream | undefined, after: number, limit: number): StreamPage {
  if (stream === undefined) return { events: [], last: 0, lost: after > 0 };
  const start = dropped(stream);
  const skipped = Math.max(0, after - start);
  const events = stream.texts
    .slice(skipped, skipped + limit)
    .map((text, index) => ({ position: start + skipped + index + 1, text }));
  return { events, last: stream.last, lost: after < start || after > stream.last };
}
