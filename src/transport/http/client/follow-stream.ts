import { McpError } from "../../../model/errors.ts";
import type { LazyAbort } from "../../../std/lazy-abort.ts";
import type { SseItem } from "../../../std/sse.ts";
import type { IncomingResponse } from "../http-send.ts";
import { backoffMs, type Ending, sleep } from "./backoff.ts";
import type { HttpParts } from "./parts.ts";
import { createPulse } from "./pulse.ts";
import { readEvents, type TakeItems } from "./read-events.ts";

/** A stream that may outlive its connection. */
export interface Followed {
  /** The connection it was born on, if there is one already. */
  readonly first?: IncomingResponse;
  readonly abort: LazyAbort;
  /** How many connections in a row may fail before the last failure is final. */
  readonly maxFailures: number;
  /** Whether one can go on after the event with this id; "" when none had one. */
  isResumable(lastEventId: string): boolean;
  /** Connects again. Undefined when there is nothing to go on with; rejecting counts as a failure. */
  connect(lastEventId: string): Promise<IncomingResponse | undefined>;
  /** Hears each event once, also when the server repeats it. */
  readonly take: TakeItems;
  /** True when nobody waits for more. */
  isOver(): boolean;
  /** Whether a connection that has gone silent is given up, by the rhythm of its server. */
  readonly hasPulse?: boolean;
}

/** Reads a stream over as many connections as it takes. Rejects when too many fail, or `take` throws. */
export async function followStream(stream: Followed, parts: HttpParts): Promise<void> {
  const cursor = createCursor(stream.take);
  let connection = stream.first;
  let last: Attempts = { ending: "end", count: 0 };

  while (!stream.isOver()) {
    const { heard } = cursor;
    const read = await readOne(connection, stream, cursor, parts);
    if (read === "nothing" || stream.isOver()) return;
    const ending = read === "end" ? "end" : "error";
    last = cursor.heard > heard ? { ending, count: 0 } : countUp(last, ending);
    const goesOn = stream.isResumable(cursor.lastEventId);
    if (read !== "end" && (!goesOn || last.count >= stream.maxFailures)) throw read.error;
    if (!goesOn) return;
    connection = undefined;
    cursor.newConnection();
    await sleep(cursor.retryMs ?? backoffMs(last.ending, last.count, parts.random()), parts.clock, stream.abort);
  }
}

/** How many connections in a row ended in the same way and brought nothing. */
interface Attempts {
  readonly ending: Ending;
  readonly count: number;
}

function countUp(last: Attempts, ending: Ending): Attempts {
  return { ending, count: last.ending === ending ? last.count + 1 : 1 };
}

type Read = "end" | "nothing" | { readonly error: unknown };

/** Reads one connection to its end. Rejects only with what no other connection would change. */
async function readOne(
  open: IncomingResponse | undefined,
  stream: Followed,
  cursor: Cursor,
  parts: HttpParts,
): Promise<Read> {
  const { limits, lingering, clock, deadlines } = parts;
  let response = open;
  const pulse =
    stream.hasPulse === true ? createPulse({ clock, deadlines, dead: () => response?.discard() }) : undefined;
  try {
    response ??= await stream.connect(cursor.lastEventId);
    if (response === undefined) return "nothing";
    const connection = response;
    let over = false;
    await readEvents(connection, limits.maxBytes, (items) => {
      pulse?.arrived(items.length === 0);
      const busy = over ? undefined : cursor.take(items);
      if (!over && stream.isOver()) lingering.add(connection);
      over = stream.isOver();
      return busy;
    });
    return "end";
  } catch (error) {
    if (error instanceof McpError && final.has(error.code)) throw error;
    return { error };
  } finally {
    pulse?.stop();
    if (response !== undefined) lingering.delete(response);
  }
}

const final: ReadonlySet<string> = new Set(["limit-reached", "invalid-response"]);

/** How far a stream was read. */
interface Cursor {
  readonly lastEventId: string;
  readonly retryMs: number | undefined;
  /** How many events there were. */
  readonly heard: number;
  readonly take: TakeItems;
  newConnection(): void;
}

function createCursor(take: TakeItems): Cursor {
  let lastEventId = "";
  let retryMs: number | undefined;
  let heard = 0;
  /** Ids of earlier connections, and of this one. A server may use an id twice on one connection, and mean two events. */
  let known: ReadonlySet<string> = new Set();
  const recent = new Set<string>();

  const remember = (id: string): void => {
    lastEventId = id;
    recent.add(id);
    if (recent.size > maxRecent) for (const oldest of recent) return void recent.delete(oldest);
  };

  /** True for what was not heard before. */
  const isNews = (item: SseItem): boolean => {
    if (item.kind === "retry") {
      retryMs = item.ms;
      return false;
    }
    heard++;
    if (item.kind === "too-large" || item.id === undefined) return true;
    remember(item.id);
    return !known.has(item.id);
  };

  return {
    get lastEventId() {
      return lastEventId;
    },
    get retryMs() {
      return retryMs;
    },
    get heard() {
      return heard;
    },
    take: (items) => take(items.filter(isNews)),
    newConnection() {
      known = new Set(recent);
    },
  };
}

/** More than a server is likely to repeat. */
const maxRecent = 256;
