import { rpcCodes } from "../../../jsonrpc/message.ts";
import { McpError } from "../../../model/errors.ts";
import type { LazyAbort } from "../../../std/lazy-abort.ts";
import type { IncomingResponse } from "../http-send.ts";
import { followStream } from "./follow-stream.ts";
import { brokenOff, httpError, networkError } from "./http-errors.ts";
import { getStream, isTransient, type LegacyContext, post } from "./legacy-context.ts";
import type { Pending, Settlement } from "./pending.ts";
import { isEventStream, readAnswer } from "./read-answer.ts";
import { messagesOf } from "./read-events.ts";

/** Sends a request and sees to it that it is settled. Rejects with an `McpError` when no answer comes. */
export async function perform(pending: Pending, context: LegacyContext): Promise<void> {
  const { session, parts } = context;
  const { id } = pending.request;
  const response = await send(pending, context);
  const { status } = response;
  if (!refusals.has(status) || session.id === undefined || isHello(pending)) return read(response, pending, context);

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
  const response = await post(parts, isHello(pending) ? {} : session, body, abort);
  pending.head = response;
  parts.answered(request.method, response.status);
  return response;
}

/** `initialize` opens a session, so it goes out in none. */
function isHello({ request }: Pending): boolean {
  return request.method === "initialize";
}

async function read(response: IncomingResponse, pending: Pending, context: LegacyContext): Promise<void> {
  if (isEventStream(response)) return follow(response, pending, context);
  context.settle(pending, await readAnswer(response, pending.request.id, context.parts.limits));
}

/** Connections in a row that may fail before a stream is given up. */
const maxFailures = 5;

/** Reads the stream that answers a request, over one connection after the other. */
async function follow(first: IncomingResponse, pending: Pending, context: LegacyContext): Promise<void> {
  const { request, abort } = pending;
  const { parts } = context;
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
        connect: (lastEventId) => resume(lastEventId, abort, context, refused),
        take: (items) =>
          context.route(
            items.flatMap((item) => messagesOf(item, parts.limits)),
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

/** Asks for the rest of a stream. Undefined when the server does not go on; `refused` hears why. */
async function resume(
  lastEventId: string,
  abort: LazyAbort,
  context: LegacyContext,
  refused: (why: McpError) => void,
): Promise<IncomingResponse | undefined> {
  const { parts, session } = context;
  const response = await getStream(parts, session, lastEventId, abort);
  if (isEventStream(response)) return response;
  response.discard();
  if (isTransient(response.status)) throw httpError(response);
  refused(httpError(response));
  // The request is not sent again, for the server may have done what it asks. The session is needed anyway.
  if (response.status === 404 && session.id !== undefined) context.renew(session).catch(() => {});
  return undefined;
}
