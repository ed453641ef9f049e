import { type Message, rpcCodes } from "../../jsonrpc/message.ts";
import { McpError } from "../../protocol/errors.ts";
import { within } from "../../protocol/limits.ts";
import { LazyAbort } from "../../std/lazy-abort.ts";
import type { Headers } from "../../transport/http/client/http-endpoint.ts";
import { brokenOff, httpError, networkError, statusText } from "../../transport/http/client/http-errors.ts";
import { isEventStream, isOk, messagesOf, readAnswer } from "../../transport/http/client/read-response.ts";
import type { IncomingResponse } from "../../transport/http/http-message.ts";
import { getStream, isTransient, type LegacyContext, type Pending, post, type Settlement } from "./http-context.ts";
import { backoffMs, followStream, sleep } from "./http-streams.ts";

/** Sends a request and sees to it that it is settled. Rejects with an `McpError` when no answer comes. */
export async function perform(pending: Pending, context: LegacyContext): Promise<void> {
  const { session, parts } = context;
  const { id } = pending.request;
  const response = await send(pending, context);
  const { status } = response;
  if (!refusals.has(status) || session.id === undefined || isInitialize(pending))
    return read(response, pending, context);

  const answer = await readAnswer(response, id, parts.limits).catch((error: unknown) =>
    networkError(parts.endpoint.url, error),
  );
  if (!meansLost(status, answer)) return context.settle(pending, answer);
  await context.renew(session);
  if (!pending.over) await read(await send(pending, context), pending, context);
}

/** With these a server refuses what it has not looked at. It should say 404 when it has lost the session. */
const refusals: ReadonlySet<number> = new Set([400, 404]);

/** 404 may also be about the method. Servers made after the examples of the official SDK say 400, and why. */
function meansLost(status: number, answer: Settlement): boolean {
  if (answer instanceof McpError || answer.kind === "success") return status === 404;
  const { code, message } = answer.error;
  return status === 404 ? code !== rpcCodes.methodNotFound : /session|not initialized/i.test(message);
}

async function send(pending: Pending, { parts, session }: LegacyContext): Promise<IncomingResponse> {
  const { request, body, abort } = pending;
  const response = await post(parts, isInitialize(pending) ? {} : session, { body, own: request.headers }, abort);
  pending.head = response;
  parts.answered(request.method, response.status);
  return response;
}

/** `initialize` opens a session, so it goes out in none. */
function isInitialize({ request }: Pending): boolean {
  return request.method === "initialize";
}

async function read(response: IncomingResponse, pending: Pending, context: LegacyContext): Promise<void> {
  if (isEventStream(response)) return follow(response, pending, context);
  context.settle(
    pending,
    await readAnswer(response, pending.request.id, within(context.parts.limits, pending.request.maxBytes)),
  );
}

/** Connections in a row that may fail before a stream is given up. */
const maxFailures = 5;

/** Reads the stream that answers a request, over one connection after the other. */
async function follow(first: IncomingResponse, pending: Pending, context: LegacyContext): Promise<void> {
  const { request, abort } = pending;
  const { parts } = context;
  const limits = within(parts.limits, request.maxBytes);
  let refusal: McpError | undefined;
  const refused = (why: McpError): void => {
    refusal = why;
  };
  try {
    await followStream(
      {
        first,
        abort,
        maxFailures,
        isResumable: (lastEventId) => lastEventId !== "",
        connect: (lastEventId) => resume(lastEventId, pending, context, refused),
        take: (items) =>
          context.route(
            items.flatMap((item) => messagesOf(item, limits)),
            request.id,
          ),
        isOver: () => pending.over,
      },
      parts,
    );
  } catch (error) {
    throw error instanceof McpError && !retried.has(error.code) ? error : brokenOff(request.method, error);
  }
  if (!pending.over) throw brokenOff(request.method, refusal);
}

/** What may be different with the next connection. */
const retried: ReadonlySet<string> = new Set(["connection-closed", "http-error"]);

/** Resumes a stream. Undefined when the server cannot; `refused` is called with the reason. */
async function resume(
  lastEventId: string,
  { request, abort }: Pending,
  context: LegacyContext,
  refused: (why: McpError) => void,
): Promise<IncomingResponse | undefined> {
  const { parts, session } = context;
  const response = await getStream(parts, session, { lastEventId, own: request.headers }, abort);
  if (isEventStream(response)) return response;
  response.discard();
  if (isTransient(response.status)) throw httpError(response);
  refused(httpError(response));
  // The request is not sent again, for the server may have done what it asks. The session is needed anyway.
  if (response.status === 404 && session.id !== undefined) context.renew(session).catch(() => {});
  return undefined;
}

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
    const response = await post(parts, session, { body, own: headersOf(message) }, abort);
    response.discard();
    if (response.status !== 404 || session.id === undefined || isInitialized(message)) return response.status;
    await context.renew(session);
    // To the new session, what concerns requests of the old one means nothing.
    return belongsToSession(message) ? response.status : repeat(body, abort);
  };

  const repeat = async (body: string, abort: LazyAbort): Promise<number> => {
    const response = await post(parts, context.session, { body }, abort);
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

/** A cancellation has the headers of the call that it ends. */
function headersOf(message: Message): Headers | undefined {
  return message.kind === "notification" ? message.headers : undefined;
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
