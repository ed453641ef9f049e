import type { Id, Malformed, Message, Request, Response } from "../../../jsonrpc/message.ts";
import { McpError } from "../../../model/errors.ts";
import type { IncomingResponse } from "../http-send.ts";
import { brokenOff } from "./http-errors.ts";
import type { Linger } from "./lingering.ts";
import type { HttpParts } from "./parts.ts";
import { isAnswerTo } from "./read-answer.ts";
import { messagesOf, readEvents } from "./read-events.ts";

/** A stream that answers one request. */
export interface AnswerStream {
  readonly response: IncomingResponse;
  readonly request: Request;
  /** Under which id the rest of the client knows the request. */
  readonly about: Id;
}

/**
 * The answer, as soon as the stream brings it; what comes before it is put into
 * the inbox. Rejects with an `McpError` when the stream ends without it: there
 * is no way to go on with a stream of this revision.
 */
export function answerFromStream(
  { response, request, about }: AnswerStream,
  { inbox, limits, lingering }: HttpParts,
): Promise<Response> {
  const { id, method } = request;
  return new Promise((resolve, reject) => {
    let over = false;
    let lingers: Linger | undefined;

    /** What is to be told of a message. */
    const sort = (message: Message | Malformed): readonly (Message | Malformed)[] => {
      if (over) return [];
      over = endsRequest(message, id);
      if (isAnswerTo(message, id)) resolve(message);
      else if (message.kind === "malformed" && over) reject(brokenAnswer(method, message));
      else return [message.kind === "notification" ? { ...message, about } : message];
      return [];
    };

    readEvents(response, limits.maxBytes, (items) => {
      if (over) return undefined;
      const news = items.flatMap((item) => messagesOf(item, limits)).flatMap(sort);
      if (over) lingers = lingering.add(response);
      return news.length === 0 ? undefined : inbox.put(news);
    })
      .then(
        () => reject(brokenOff(method)),
        (error) => reject(error instanceof McpError ? error : brokenOff(method, error)),
      )
      .finally(() => lingers?.over());
  });
}

/** True for the last that is heard of a request: its answer, whole or broken, or that the server ended it. */
function endsRequest(message: Message | Malformed, id: Id): boolean {
  switch (message.kind) {
    case "request":
      return false;
    case "notification":
      return message.method === "notifications/cancelled" && message.params.requestId === id;
    case "malformed":
      return !message.answerable && message.id === id;
    default:
      return message.id === id;
  }
}

function brokenAnswer(method: string, { error }: Malformed): McpError {
  return new McpError("invalid-response", `the answer to ${method} is broken: ${error.message}`);
}
