import { standardHeaders } from "../../../codec/standard-headers.ts";
import type { JsonObject } from "../../../json/json.ts";
import { encodeMessage, type Id, type Request, type Response } from "../../../jsonrpc/message.ts";
import { metaKeys, metaOf } from "../../../model/meta.ts";
import { newest } from "../../../model/revision.ts";
import { LazyAbort } from "../../../std/lazy-abort.ts";
import { networkError } from "./http-errors.ts";
import { createKnownTools } from "./known-tools.ts";
import { answerFromStream } from "./modern-stream.ts";
import { type HttpParts, postHeaders, type Speaker } from "./parts.ts";
import { isEventStream, readAnswer } from "./read-answer.ts";
import type { Headers } from "./user-headers.ts";

/**
 * Speaks the stateless revision: every request is a POST of its own, and letting
 * go of it cancels it. Nothing else is sent.
 */
export function createModernSpeaker(parts: HttpParts): Speaker {
  const { endpoint, inbox, limits, warn } = parts;
  const tools = createKnownTools(warn);
  const open = new Map<Id, LazyAbort>();
  let listing: Promise<void> | undefined;
  let listed = 0;

  /** Written out, for that is what engines are fast with. */
  const headersFor = (method: string, params: JsonObject): Headers => {
    const { "mcp-method": called = method, "mcp-name": name } = standardHeaders(method, params);
    const { accept, "content-type": type } = postHeaders;
    const extra = method === "tools/call" ? tools.headersFor(params) : undefined;
    if (name === undefined) {
      return { accept, "content-type": type, "mcp-protocol-version": newest, "mcp-method": called };
    }
    const headers = {
      accept,
      "content-type": type,
      "mcp-protocol-version": newest,
      "mcp-method": called,
      "mcp-name": name,
    };
    return extra === undefined ? headers : { ...headers, ...extra };
  };

  const perform = async (request: Request, body: string, abort: LazyAbort, about = request.id): Promise<Response> => {
    const { method, params } = request;
    const response = await endpoint.send({ method: "POST", headers: headersFor(method, params), body }, abort);
    parts.answered(method, response.status);
    if (isEventStream(response)) return answerFromStream({ response, request, about }, parts);
    return readAnswer(response, request.id, limits);
  };

  /** Asks for all pages of the list of tools, to learn which arguments have to be repeated in headers. */
  const listAnew = async (meta: JsonObject, id: Id, abort: LazyAbort): Promise<void> => {
    let params: JsonObject | undefined = { _meta: meta };
    for (let page = 0; page < maxPages && params !== undefined; page++) {
      const request: Request = { kind: "request", id: `${id}-${page}`, method: "tools/list", params };
      const answer = await perform(request, encodeMessage(request), abort);
      const result = answer.kind === "success" ? tools.learn(answer.result) : {};
      params = typeof result.nextCursor === "string" ? { _meta: meta, cursor: result.nextCursor } : undefined;
    }
  };

  /** Everybody who wants the list anew at the same time gets the same one. */
  const relist = (meta: JsonObject): Promise<void> => {
    if (listing !== undefined) return listing;
    const id = `tools-${++listed}`;
    const abort = new LazyAbort();
    open.set(id, abort);
    listing = listAnew(meta, id, abort).finally(() => {
      open.delete(id);
      listing = undefined;
    });
    return listing;
  };

  /** The call once more, after the server found fault with its headers. */
  const callAgain = async (request: Request, abort: LazyAbort): Promise<Response> => {
    const { [metaKeys.progressToken]: _, ...meta } = metaOf(request.params);
    await relist(meta);
    const again: Request = { ...request, id: `${request.id}-again` };
    return { ...(await perform(again, encodeMessage(again), abort, request.id)), id: request.id };
  };

  const run = async (request: Request, body: string, abort: LazyAbort): Promise<void> => {
    const { id, method } = request;
    try {
      const first = await perform(request, body, abort);
      const answer = isHeaderMismatch(first) && method === "tools/call" ? await callAgain(request, abort) : first;
      const learned = method === "tools/list" && answer.kind === "success";
      inbox.put([learned ? { ...answer, result: tools.learn(answer.result) } : answer]);
    } catch (error) {
      if (!abort.aborted) inbox.put([{ kind: "undelivered", id, cause: networkError(endpoint.url, error) }]);
    }
    open.delete(id);
  };

  const cancel = (id: unknown): void => {
    open.get(id as Id)?.abort("cancelled");
    open.delete(id as Id);
  };

  return {
    send(message) {
      if (message.kind === "notification" && message.method === "notifications/cancelled") {
        cancel(message.params.requestId);
      } else if (message.kind === "request") {
        const abort = new LazyAbort();
        const body = encodeMessage(message);
        open.set(message.id, abort);
        void run(message, body, abort);
      }
    },
    async close() {
      for (const abort of open.values()) abort.abort("closed");
      open.clear();
    },
  };
}

const maxPages = 100;

function isHeaderMismatch(answer: Response): boolean {
  return answer.kind === "failure" && answer.error.code === -32020;
}
