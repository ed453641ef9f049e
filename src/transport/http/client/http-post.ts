import type { JsonObject } from "../../../json/json.ts";
import { encodeMessage, type Malformed, type Message, type Request, type Response } from "../../../jsonrpc/message.ts";
import { type MessageLimits, within } from "../../../protocol/limits.ts";
import { metaKeys, metaOf } from "../../../protocol/meta.ts";
import { LazyAbort } from "../../../std/lazy-abort.ts";
import type { IncomingResponse } from "../http-message.ts";
import type { Endpoint, Headers } from "./http-endpoint.ts";
import { isEventStream, type Lingering, readAnswer, readResponseStream } from "./read-response.ts";
import type { KnownTools } from "./tool-headers.ts";

/** Sends requests of the stateless revision, each by a POST of its own. */
export interface HttpPost {
  /** The response to a request, whose text is `body`. Rejects when there is none. */
  send(request: Request, body: string, sender: PostSender): Promise<Response>;
  /** Ends what was sent for no call. */
  close(): void;
}

/** The caller that a request is sent for. */
export interface PostSender {
  readonly abort: LazyAbort;
  /** The most that the response may have, where that is less than the connection allows. */
  readonly maxBytes?: number | undefined;
  /** Called with messages before the response. */
  onMessage(message: Message | Malformed): void;
}

export interface HttpPostOptions {
  readonly endpoint: Endpoint;
  readonly limits: MessageLimits;
  readonly lingering: Lingering;
  readonly tools: KnownTools;
  headersFor(method: string, params: JsonObject): Headers;
  /** Called with messages before a response that no call waits for. */
  onMessage(message: Message | Malformed): void;
  /** Called with the status of each response. */
  answered(method: string, status: number): void;
}

/**
 * A call that the server rejects because of its headers is sent once more, after the list of tools says which ones are
 * required.
 */
export function createHttpPost(options: HttpPostOptions): HttpPost {
  const { endpoint, limits, lingering, tools, headersFor, onMessage } = options;
  const listings = new Set<LazyAbort>();
  let listing: Promise<void> | undefined;
  let listed = 0;

  const post = async (request: Request, body: string, sender: PostSender): Promise<Response> => {
    const { method, params, headers: own } = request;
    const extra = method === "tools/call" ? tools.headersFor(params) : undefined;
    const standard = headersFor(method, params);
    const headers = extra === undefined ? standard : { ...standard, ...extra };
    const response = await endpoint.send({ method: "POST", headers, body, own }, sender.abort);
    return read(response, request, sender);
  };

  const read = (response: IncomingResponse, request: Request, sender: PostSender): Promise<Response> => {
    options.answered(request.method, response.status);
    const bounds = within(limits, sender.maxBytes);
    if (!isEventStream(response)) return readAnswer(response, request.id, bounds);
    return readResponseStream(
      { response, request, onMessage: (message) => sender.onMessage(message) },
      bounds,
      lingering,
    );
  };

  /** Learns from a page of the list of tools, or from what could be read of it. */
  const learn = (answer: Response): Response => {
    if (answer.kind === "success") return { ...answer, result: tools.learn(answer.result) };
    return answer.partial === undefined ? answer : { ...answer, partial: tools.learn(answer.partial) };
  };

  /** Asks for all pages of the list of tools, to learn which arguments have to be repeated in headers. */
  const listAnew = async (meta: JsonObject, abort: LazyAbort, own: Request["headers"]): Promise<void> => {
    const id = `tools-${++listed}`;
    let params: JsonObject | undefined = { _meta: meta };
    for (let page = 0; page < maxPages && params !== undefined; page++) {
      const list: Request = { kind: "request", id: `${id}-${page}`, method: "tools/list", params };
      const request = own === undefined ? list : { ...list, headers: own };
      const answer = learn(await post(request, encodeMessage(request), { abort, onMessage }));
      const cursor = (answer.kind === "success" ? answer.result : answer.partial)?.nextCursor;
      params = typeof cursor === "string" ? { _meta: meta, cursor } : undefined;
    }
  };

  const relist = (meta: JsonObject, own?: Request["headers"]): Promise<void> => {
    const abort = new LazyAbort();
    listings.add(abort);
    return listAnew(meta, abort, own).finally(() => listings.delete(abort));
  };

  /** Concurrent requests for a new list share one. */
  const relistForAll = (meta: JsonObject): Promise<void> => {
    listing ??= relist(meta).finally(() => {
      listing = undefined;
    });
    return listing;
  };

  /** Sends the call again after the server rejected its headers. */
  const callAgain = async (request: Request, sender: PostSender): Promise<Response> => {
    const { [metaKeys.progressToken]: _, ...meta } = metaOf(request.params);
    await (request.headers === undefined ? relistForAll(meta) : relist(meta, request.headers));
    const again: Request = { ...request, id: `${request.id}-again` };
    return post(again, encodeMessage(again), sender);
  };

  return {
    async send(request, body, sender) {
      const answer = await post(request, body, sender);
      if (request.method === "tools/list") return learn(answer);
      return request.method === "tools/call" && isHeaderMismatch(answer) ? callAgain(request, sender) : answer;
    },
    close() {
      for (const abort of listings) abort.abort("closed");
    },
  };
}

const maxPages = 100;

function isHeaderMismatch(answer: Response): boolean {
  return answer.kind === "failure" && answer.error.code === -32020;
}
