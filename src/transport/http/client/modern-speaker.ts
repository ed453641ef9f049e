import type { JsonObject } from "../../../json/json.ts";
import { encodeMessage, type Id, isId, type Request, type Response } from "../../../jsonrpc/message.ts";
import { metaKeys, metaOf } from "../../../model/meta.ts";
import { IdTable } from "../../../std/id-table.ts";
import { LazyAbort } from "../../../std/lazy-abort.ts";
import type { IncomingResponse } from "../http-send.ts";
import { networkError } from "./http-errors.ts";
import { createKnownTools } from "./known-tools.ts";
import { createModernHeaders } from "./modern-headers.ts";
import { answerFromStream } from "./modern-stream.ts";
import type { HttpParts, Speaker } from "./parts.ts";
import { isEventStream, readAnswer } from "./read-answer.ts";

/**
 * Speaks the stateless revision: every request is a POST of its own, and letting
 * go of it cancels it. Nothing else is sent.
 */
export function createModernSpeaker(parts: HttpParts): Speaker {
  const { endpoint, inbox, limits, warn } = parts;
  const tools = createKnownTools(warn);
  const headersFor = createModernHeaders();
  const open = new IdTable<LazyAbort>();
  let listing: Promise<void> | undefined;
  let listed = 0;

  const post = ({ method, params }: Request, body: string, abort: LazyAbort): Promise<IncomingResponse> => {
    const extra = method === "tools/call" ? tools.headersFor(params) : undefined;
    const standard = headersFor(method, params);
    const headers = extra === undefined ? standard : { ...standard, ...extra };
    return endpoint.send({ method: "POST", headers, body }, abort);
  };

  const read = (response: IncomingResponse, request: Request, about: Id): Promise<Response> => {
    parts.answered(request.method, response.status);
    if (isEventStream(response)) return answerFromStream({ response, request, about }, parts);
    return readAnswer(response, request.id, limits);
  };

  /** Asks for all pages of the list of tools, to learn which arguments have to be repeated in headers. */
  const listAnew = async (meta: JsonObject, id: Id, abort: LazyAbort): Promise<void> => {
    let params: JsonObject | undefined = { _meta: meta };
    for (let page = 0; page < maxPages && params !== undefined; page++) {
      const request: Request = { kind: "request", id: `${id}-${page}`, method: "tools/list", params };
      const answer = await read(await post(request, encodeMessage(request), abort), request, request.id);
      const result = answer.kind === "success" ? tools.learn(answer.result) : {};
      params = typeof result.nextCursor === "string" ? { _meta: meta, cursor: result.nextCursor } : undefined;
    }
  };

  /** Everybody who wants the list anew at the same time gets the same one. */
  const relist = (meta: JsonObject): Promise<void> => {
    if (listing !== undefined) return listing;
    const id = `tools-${++listed}`;
    const abort = new LazyAbort();
    open.add(id, abort);
    listing = listAnew(meta, id, abort).finally(() => {
      open.take(id);
      listing = undefined;
    });
    return listing;
  };

  /** The call once more, after the server found fault with its headers. */
  const callAgain = async (request: Request, abort: LazyAbort): Promise<Response> => {
    const { [metaKeys.progressToken]: _, ...meta } = metaOf(request.params);
    await relist(meta);
    const again: Request = { ...request, id: `${request.id}-again` };
    const answer = await read(await post(again, encodeMessage(again), abort), again, request.id);
    return { ...answer, id: request.id };
  };

  const run = async (request: Request, body: string, abort: LazyAbort): Promise<void> => {
    const { id, method } = request;
    try {
      const first = await read(await post(request, body, abort), request, id);
      const answer = isHeaderMismatch(first) && method === "tools/call" ? await callAgain(request, abort) : first;
      const learned = method === "tools/list" && answer.kind === "success";
      inbox.put([learned ? { ...answer, result: tools.learn(answer.result) } : answer]);
    } catch (error) {
      if (!abort.aborted) inbox.put([{ kind: "undelivered", id, cause: networkError(endpoint.url, error) }]);
    }
    open.take(id);
  };

  const cancel = (id: unknown): void => {
    if (isId(id)) open.take(id)?.abort("cancelled");
  };

  return {
    send(message) {
      if (message.kind === "notification" && message.method === "notifications/cancelled") {
        cancel(message.params.requestId);
      } else if (message.kind === "request") {
        const abort = new LazyAbort();
        const body = encodeMessage(message);
        open.add(message.id, abort);
        void run(message, body, abort);
      }
    },
    async close() {
      for (const abort of open.clear()) abort.abort("closed");
    },
  };
}

const maxPages = 100;

function isHeaderMismatch(answer: Response): boolean {
  return answer.kind === "failure" && answer.error.code === -32020;
}
