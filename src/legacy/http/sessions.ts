import type { Parsed, Request } from "../../jsonrpc/message.ts";
import { authOf } from "../../model/authenticator.ts";
import { toBase64Url } from "../../std/base64.ts";
import { createPulse, type Pulse } from "../../transport/http/heartbeat.ts";
import {
  type HttpAnswer,
  type HttpHead,
  type HttpReply,
  refusal,
  sendAnswer,
} from "../../transport/http/http-message.ts";
import type { LegacyHandler } from "../../transport/http/legacy-handlers.ts";
import { createSharedFeed } from "../session/shared-feed.ts";
import { createHttpSession, type HttpSession, type SessionRules } from "./in-memory-session.ts";

export interface SessionsOptions extends Omit<SessionRules, "feed" | "rest"> {
  readonly maxSessions: number;
  /** How long a session lives without a request, a call or a stream. */
  readonly sessionTtlMs: number;
}

/** How often sessions are looked at, as a part of their time to live. */
const SWEEPS = 4;
/** A session goes to rest when nothing was going on for one to two of these. */
const REST_MS = 100;

export function createSessions(options: SessionsOptions): LegacyHandler {
  const { clock, service, maxSessions, sessionTtlMs } = options;
  const isRequestBound = clock.requestBound === true;
  const rest = isRequestBound ? noPulse : createPulse(clock, REST_MS);
  const rules: SessionRules = { ...options, feed: createSharedFeed(service), rest };
  const sessions = new Map<string, HttpSession>();
  /** Sessions whose `initialize` is not answered yet. */
  let opening = 0;
  let sweeping = false;
  let swept = clock.now();
  const sweep = (): void => {
    const now = clock.now();
    for (const session of sessions.values()) {
      if (session.busy) session.seen = now;
      else if (now - session.seen >= sessionTtlMs) end(session);
    }
  };

  const sweepLater = (): void => {
    sweeping = sessions.size > 0;
    if (!sweeping) return;
    clock.after(sessionTtlMs / SWEEPS, () => {
      sweep();
      sweepLater();
    });
  };

  /** Where a timer ends with its request, requests look after what others have left behind. */
  const sweepNow = (): void => {
    if (!isRequestBound || sessionTtlMs <= 0 || clock.now() - swept < sessionTtlMs / SWEEPS) return;
    swept = clock.now();
    sweep();
    for (const session of sessions.values()) session.beat();
  };

  const keep = (session: HttpSession): void => {
    sessions.set(session.id, session);
    session.seen = clock.now();
    if (!sweeping && sessionTtlMs > 0 && !isRequestBound) sweepLater();
  };

  const end = (session: HttpSession): void => {
    sessions.delete(session.id);
    void session.close();
  };

  /** The session a request names, or the answer that says why there is none. */
  const find = (head: HttpHead): HttpSession | HttpAnswer => {
    const id = head.header("mcp-session-id");
    if (id === undefined) return refusals.missing;
    const session = sessions.get(id);
    if (session === undefined || session.principal !== authOf(head)?.principal) return refusals.unknown;
    session.seen = clock.now();
    return session;
  };

  const open = (message: Request, head: HttpHead, reply: HttpReply): void => {
    if (sessions.size + opening >= maxSessions) return void sendAnswer(reply, refusals.tooMany);
    const session = createHttpSession(createSessionId(), rules, authOf(head));
    opening++;
    session.open(message, { http: head, reply }, (ok) => {
      opening--;
      if (ok) keep(session);
    });
  };

  return {
    post(message, head, reply) {
      sweepNow();
      if (isHello(message) && head.header("mcp-session-id") === undefined) {
        return open(message, head, reply);
      }
      const found = find(head);
      if ("status" in found) return sendAnswer(reply, found);
      found.post(message, head, reply);
    },
    get(head, reply) {
      const found = find(head);
      if ("status" in found) return sendAnswer(reply, found);
      const got = found.get(head.header("last-event-id"), reply);
      if (got !== "opened") sendAnswer(reply, noStream[got]);
    },
    delete(head, reply) {
      const found = find(head);
      if ("status" in found) return sendAnswer(reply, found);
      end(found);
      reply.send(204, {}, "");
    },
    async drain() {
      await Promise.all([...sessions.values()].map((session) => session.drain()));
      sessions.clear();
      rules.rest.stop();
    },
  };
}

/** Of sessions that rest when somebody looks. */
const noPulse: Pulse = { intervalMs: 0, add() {}, delete() {}, stop() {} };

export const refusals: Readonly<Record<"missing" | "unknown" | "tooMany", HttpAnswer>> = {
  missing: refusal(400, "header mcp-session-id is missing; open a session with initialize"),
  unknown: refusal(404, "there is no such session; open another one with initialize"),
  tooMany: refusal(429, "there are too many sessions", { "retry-after": "10" }),
};

export const noStream: Readonly<Record<"too many" | "over", HttpAnswer>> = {
  "too many": refusal(429, "too many streams of this session are open", { "retry-after": "1" }),
  // Clients that wait for an answer to a cancelled call would come back for ever; this they take for an end.
  over: refusal(405, "nothing follows this event, and nothing will", { allow: "POST, DELETE, OPTIONS" }),
};

export function isHello(message: Parsed): message is Request {
  return message.kind === "request" && message.method === "initialize";
}

/** 256 bits that nobody can guess, in characters that a header may have. */
export function createSessionId(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(32)));
}
