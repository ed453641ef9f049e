import type { Message } from "../../../jsonrpc/message.ts";
import { McpError } from "../../../model/errors.ts";
import { LazyAbort } from "../../../std/lazy-abort.ts";
import { backoffMs, sleep } from "./backoff.ts";
import { statusText } from "./http-errors.ts";
import { type LegacyContext, post } from "./legacy-context.ts";
import { isOk } from "./read-answer.ts";

/** Sends what gets no answer: notifications, and answers to the server. */
export interface Teller {
  /** Resolves when the server has taken it, or will not. Never rejects. */
  tell(message: Message, body: string): Promise<void>;
  close(): void;
}

export function createTeller(context: LegacyContext): Teller {
  const { parts } = context;
  const open = new Set<LazyAbort>();

  const attempt = async (message: Message, body: string, abort: LazyAbort): Promise<number> => {
    const { session } = context;
    const response = await post(parts, session, body, abort);
    response.discard();
    if (response.status !== 404 || session.id === undefined || isInitialized(message)) return response.status;
    await context.renew(session);
    // To the new session, what concerns requests of the old one means nothing.
    return belongsToSession(message) ? response.status : repeat(body, abort);
  };

  const repeat = async (body: string, abort: LazyAbort): Promise<number> => {
    const response = await post(parts, context.session, body, abort);
    response.discard();
    return response.status;
  };

  /** Again when the connection breaks: what is told twice does no harm, and what is lost leaves the server waiting. */
  const persist = async (message: Message, body: string, abort: LazyAbort): Promise<number> => {
    for (let attempts = 1; ; attempts++) {
      try {
        return await attempt(message, body, abort);
      } catch (error) {
        if (abort.aborted || attempts === maxAttempts || !isBroken(error)) throw error;
        await sleep(backoffMs("error", attempts, parts.random()), parts.clock, abort);
      }
    }
  };

  return {
    async tell(message, body) {
      const abort = new LazyAbort();
      const deadline = parts.deadlines.start({ idleMs: 0, totalMs: parts.timeoutMs }, () => abort.abort("timeout"));
      open.add(abort);
      try {
        const status = await persist(message, body, abort);
        if (!isOk(status)) parts.warn({ kind: "not-honoured", message: refused(message, statusText(status)) });
      } catch (cause) {
        const why = cause instanceof Error ? cause.message : "the connection failed";
        if (open.has(abort)) parts.warn({ kind: "not-honoured", message: refused(message, why), cause });
      }
      open.delete(abort);
      deadline.stop();
    },
    close() {
      const aborts = [...open];
      open.clear();
      for (const abort of aborts) abort.abort("closed");
    },
  };
}

const maxAttempts = 4;

function isBroken(error: unknown): boolean {
  return error instanceof McpError && error.code === "connection-closed";
}

/** What opens a session cannot be waiting for one. */
function isInitialized(message: Message): boolean {
  return message.kind === "notification" && message.method === "notifications/initialized";
}

function belongsToSession(message: Message): boolean {
  return message.kind !== "notification" || message.method === "notifications/cancelled";
}

function refused(message: Message, why: string): string {
  const what = message.kind === "notification" ? message.method : "an answer";
  return `the server did not take ${what}: ${why}`;
}
