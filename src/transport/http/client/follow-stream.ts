import { McpError } from "../../../model/errors.ts";
import type { LazyAbort } from "../../../std/lazy-abort.ts";
import type { SseItem } from "../../../std/sse.ts";
import type { IncomingResponse } from "../http-send.ts";
import { backoffMs, type Ending, sleep } from "./backoff.ts";
import type { Linger } from "./lingering.ts";
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
  const cursor = new Cursor(stream.take);
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
  let lingers: Linger | undefined;
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
      if (!over && stream.isOver()) lingers = lingering.add(connection);
      over = stream.isOver();
      return busy;
    });
    return "end";
  } catch (error) {
    if (error instanceof McpError && final.has(error.code)) throw error;
    return { error };
  } finally {
    pulse?.stop();
    lingers?.over();
  }
}

const final: ReadonlySet<string> = new Set(["limit-reached", "invalid-response"]);

/** How far a stream was read. */
class Cursor {
  lastEventId = "";
  retryMs: number | undefined;
  /** How many events there were. */
  heard = 0;
  readonly #take: TakeItems;
  /** Ids of earlier connections, and of this one. A server may use an id twice on one connection, and mean two events. */
  #known: ReadonlySet<string> = none;
  #recent: Set<string> | undefined;

  constructor(take: TakeItems) {
    this.#take = take;
  }

  take(items: readonly SseItem[]): Promise<void> | undefined {
    return this.#take(items.filter((item) => this.#isNews(item)));
  }

  newConnection(): void {
    if (this.#recent !== undefined) this.#known = new Set(this.#recent);
  }

  /** True for what was not heard before. */
  #isNews(item: SseItem): boolean {
    if (item.kind === "retry") {
      this.retryMs = item.ms;
      return false;
    }
    this.heard++;
    if (item.kind === "too-large" || item.id === undefined) return true;
    this.#remember(item.id);
    return !this.#known.has(item.id);
  }

  #remember(id: string): void {
    this.lastEventId = id;
    this.#recent ??= new Set();
    this.#recent.add(id);
    if (this.#recent.size > maxRecent) for (const oldest of this.#recent) return void this.#recent.delete(oldest);
  }
}

const none: ReadonlySet<string> = new Set();

/** More than a server is likely to repeat. */
const maxRecent = 256;
