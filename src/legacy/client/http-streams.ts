import { McpError } from "../../protocol/errors.ts";
import type { Clock } from "../../std/clock.ts";
import type { Deadline, Deadlines } from "../../std/deadlines.ts";
import { LazyAbort } from "../../std/lazy-abort.ts";
import type { SseItem } from "../../std/sse.ts";
import { httpError, statusText, tooLarge } from "../../transport/http/client/http-errors.ts";
import {
  isEventStream,
  type Linger,
  messagesOf,
  readEvents,
  type TakeItems,
} from "../../transport/http/client/read-response.ts";
import type { IncomingResponse } from "../../transport/http/http-message.ts";
import { getStream, type HttpParts, type HttpSession, isTransient, type LegacyContext } from "./http-context.ts";

/** How a connection ended: broken or refused, or closed by a server that wants to be asked again. */
type Ending = "error" | "end";

/** Servers cannot make a client come back sooner than this. */
const minMs = 250;

const maxMs: Readonly<Record<Ending, number>> = { error: 5_000, end: 1_000 };

/**
 * How long to wait before connecting again, when `count` connections in a row
 * brought nothing. It is at least what the server asks for and never less than 250 ms, doubles up to a bound, and
 * is spread so that many clients do not come back at the same moment. `random` is between 0 and 1.
 */
export function backoffMs(ending: Ending, count: number, random: number, askedMs = 0): number {
  const least = Math.max(minMs, askedMs);
  const full = Math.min(Math.max(maxMs[ending], least), least * 2 ** Math.max(0, count - 1));
  return Math.max(least, full * (0.5 + random / 2)) + (least / 8) * (1 - random);
}

/** Resolves after `ms`, or when the abort comes. Until then the process stays alive, as it does while a stream is open. */
export function sleep(ms: number, clock: Clock, abort: LazyAbort): Promise<void> {
  return new Promise((resolve) => {
    const letGo = clock.hold?.();
    const wake = (): void => {
      stop();
      unlisten();
      letGo?.();
      resolve();
    };
    const stop = clock.after(ms, () => wake());
    const unlisten = abort.onAbort(() => queueMicrotask(wake));
  });
}

/** Detects a connection that is dead without being closed. */
interface SilenceTimer {
  /** Something arrived. A beat is what servers send only to show that they are there. */
  arrived(isBeat: boolean): void;
  stop(): void;
}

interface SilenceTimerOptions {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  /** The connection has been silent for longer than its server ever was. */
  dead(): void;
}

/** Beats that follow each other faster than this are no rhythm but parts of one thing. */
const shortestMs = 1_000;
/** How many beats in a row may be missing before the connection counts as dead. */
const patience = 2.5;

/**
 * Learns the rhythm of a server from its beats. One that never beats, or beat
 * only once, may be silent for as long as it likes.
 */
function createSilenceTimer({ clock, deadlines, dead }: SilenceTimerOptions): SilenceTimer {
  let last: number | undefined;
  let longest = 0;
  let deadline: Deadline | undefined;

  const learn = (gap: number): void => {
    if (gap < shortestMs || gap <= longest) return;
    longest = gap;
    deadline?.stop();
    deadline = deadlines.start({ idleMs: longest * patience, totalMs: 0 }, dead);
  };

  return {
    arrived(isBeat) {
      deadline?.touch();
      if (!isBeat) return;
      const now = clock.now();
      if (last !== undefined) learn(now - last);
      last = now;
    },
    stop: () => deadline?.stop(),
  };
}

/** A stream that may outlive its connection. */
interface Followed {
  /** The connection it was born on, if there is one already. */
  readonly first?: IncomingResponse;
  readonly abort: LazyAbort;
  /** How many connections in a row may fail before the last failure is final. */
  readonly maxFailures: number;
  /** Whether one can go on after the event with this id; "" when none had one. */
  isResumable(lastEventId: string): boolean;
  /** Connects again. Undefined when there is nothing to resume; rejecting counts as a failure. */
  connect(lastEventId: string): Promise<IncomingResponse | undefined>;
  /** Called once with each event, also when the server repeats it. */
  readonly take: TakeItems;
  /** True when no more events are needed. */
  isOver(): boolean;
  /** Whether a connection that has gone silent is given up, by the rhythm of its server. */
  readonly hasHeartbeat?: boolean;
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
    const waitMs = backoffMs(last.ending, last.count, parts.random(), cursor.retryMs);
    await sleep(waitMs, parts.clock, stream.abort);
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
  const silence =
    stream.hasHeartbeat === true
      ? createSilenceTimer({ clock, deadlines, dead: () => response?.discard() })
      : undefined;
  try {
    response ??= await stream.connect(cursor.lastEventId);
    if (response === undefined) return "nothing";
    const connection = response;
    let over = false;
    await readEvents(connection, limits.maxMessageBytes, (items) => {
      silence?.arrived(items.length === 0);
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
    silence?.stop();
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

  /** True for a new event. */
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

/** The stream on which a server says what belongs to no request of ours. */
export interface ServerStream {
  /**
   * Opens it for the present session, in place of an older one. Whenever it ends it is opened again.
   * Resolves when the server has opened it, or will not, or takes too long to say so. Never rejects.
   */
  open(): Promise<void>;
  close(): void;
}

/** Some servers say nothing on a stream, not even that it is open, until there is something to say. */
const maxReadyMs = 500;

export function createServerStream(context: LegacyContext): ServerStream {
  const { parts } = context;
  let current = new LazyAbort();

  const warn = (problem: string, cause: unknown): void => {
    const why = cause instanceof Error ? cause.message : cause;
    parts.warn({ kind: "not-honoured", message: `${problem}: ${why}` });
  };

  /** An event that is too large costs that event only. */
  const isReadable = (item: SseItem): boolean => {
    if (item.kind !== "too-large") return true;
    warn("a message of the server is left out", tooLarge("an event", parts.limits.maxMessageBytes));
    return false;
  };

  const read = (session: HttpSession, abort: LazyAbort, answered: () => void): Promise<void> => {
    let opened = false;

    /** What came after an event that the server has forgotten is lost. What comes from now on is not. */
    const reach = async (lastEventId: string): Promise<IncomingResponse> => {
      const response = await getStream(parts, session, { lastEventId }, abort);
      if (response.status !== 400 || lastEventId === "") return response;
      response.discard();
      return getStream(parts, session, { lastEventId: "" }, abort);
    };

    const connect = async (lastEventId: string): Promise<IncomingResponse | undefined> => {
      const response = await reach(lastEventId).finally(answered);
      if (isEventStream(response)) {
        opened = true;
        return response;
      }
      response.discard();
      const { status } = response;
      if (isTransient(status)) throw httpError(response);
      // A server without such a stream should say 405, and some say 404. One that had it has lost the session.
      if ((status === 404 || status === 400) && opened && session.id !== undefined) await context.renew(session);
      else if (status !== 405) warn(noStream, statusText(status));
      return undefined;
    };

    return followStream(
      {
        abort,
        maxFailures: Number.POSITIVE_INFINITY,
        isResumable: () => true,
        connect,
        take: (items) => context.route(items.filter(isReadable).flatMap((item) => messagesOf(item, parts.limits))),
        isOver: () => abort.aborted,
        hasHeartbeat: true,
      },
      parts,
    );
  };

  return {
    async open() {
      if (context.closed) return;
      current.abort("replaced");
      const abort = new LazyAbort();
      current = abort;
      await new Promise<void>((resolve) => {
        const stop = parts.clock.after(maxReadyMs, resolve);
        const answered = (): void => {
          stop();
          resolve();
        };
        read(context.session, abort, answered).catch((error) => abort.aborted || warn(noStream, error));
      });
    },
    close: () => current.abort("closed"),
  };
}

const noStream = "the server has no stream for its own messages";
