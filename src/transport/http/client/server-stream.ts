import { LazyAbort } from "../../../std/lazy-abort.ts";
import type { SseItem } from "../../../std/sse.ts";
import type { IncomingResponse } from "../http-send.ts";
import { followStream } from "./follow-stream.ts";
import { httpError, statusText, tooLarge } from "./http-errors.ts";
import { getStream, isTransient, type LegacyContext } from "./legacy-context.ts";
import { isEventStream } from "./read-answer.ts";
import { messagesOf } from "./read-events.ts";
import type { HttpSession } from "./session.ts";

/** The stream on which a server says what belongs to no request of ours. */
export interface ServerStream {
  /** Opens it for the present session, in place of an older one. Whenever it ends it is opened again. */
  open(): void;
  /** Resolves when the server has opened it for the first time, or will not, or takes too long to say so. */
  readonly ready: Promise<void>;
  close(): void;
}

/** Some servers say nothing on a stream, not even that it is open, until there is something to say. */
const maxReadyMs = 1_000;

export function createServerStream(context: LegacyContext): ServerStream {
  const { parts } = context;
  let current = new LazyAbort();
  let announce = (): void => {};
  const ready = new Promise<void>((resolve) => {
    announce = resolve;
  });

  const warn = (problem: string, cause: unknown): void => {
    const why = cause instanceof Error ? cause.message : cause;
    parts.warn({ kind: "not-honoured", message: `${problem}: ${why}` });
  };

  /** An event that is too large costs that event only. */
  const isReadable = (item: SseItem): boolean => {
    if (item.kind !== "too-large") return true;
    warn("a message of the server is left out", tooLarge("an event", parts.limits.maxBytes));
    return false;
  };

  const read = (session: HttpSession, abort: LazyAbort): Promise<void> => {
    let opened = false;

    /** What came after an event that the server has forgotten is lost. What comes from now on is not. */
    const reach = async (lastEventId: string): Promise<IncomingResponse> => {
      const response = await getStream(parts, session, lastEventId, abort);
      if (response.status !== 400 || lastEventId === "") return response;
      response.discard();
      return getStream(parts, session, "", abort);
    };

    const connect = async (lastEventId: string): Promise<IncomingResponse | undefined> => {
      const response = await reach(lastEventId).finally(announce);
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
        hasPulse: true,
      },
      parts,
    );
  };

  return {
    open() {
      if (context.closed) return;
      current.abort("replaced");
      const abort = new LazyAbort();
      current = abort;
      const stop = parts.clock.after(maxReadyMs, announce);
      void ready.then(stop);
      read(context.session, abort).catch((error) => abort.aborted || warn(noStream, error));
    },
    ready,
    close: () => current.abort("closed"),
  };
}

const noStream = "the server has no stream for its own messages";
