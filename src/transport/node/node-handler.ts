import { AsyncResource } from "node:async_hooks";
import { isUtf8 } from "node:buffer";
// biome-ignore lint/suspicious/noTsIgnore: here the types are there, for users they need not be
/** @ts-ignore Without `@types/node` these are `any`. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { McpError } from "../../protocol/errors.ts";
import { checkOptionNames, checkService } from "../../protocol/option-names.ts";
import type { Service } from "../../protocol/service.ts";
import type { HttpRequestInfo } from "../../std/http-facts.ts";
import { createEndpoint, type HttpEndpoint } from "../http/endpoint.ts";
import { consumedBody, type HttpAnswer, refusal, sendAnswer } from "../http/http-message.ts";
import { type HttpOptions, httpOptionNames } from "../http/options.ts";
import { NodeReply } from "./node-reply.ts";
import { endOfTurn } from "./write-batch.ts";

/** Serves requests of Node's `http` module, and of frameworks built on it. */
export interface NodeHandler {
  /**
   * `body` is what a framework has read and keeps elsewhere than in `request.body`, parsed or not. A function is not
   * taken for one: Express passes `next` there.
   */
  (request: IncomingMessage, response: ServerResponse, body?: unknown): void;
  /** Takes nothing new, answers what is open for a while, then ends the rest. Idempotent. */
  close(): Promise<void>;
}

/**
 * A request listener for `node:http`, Express, Nest, Connect, and by their raw requests Fastify and Koa.
 *
 * Where a framework has read the body already, what it made of it is used: `request.body`, or the third argument.
 *
 * @example
 * app.all("/mcp", toNodeHandler(shop, { allowedHosts: ["api.example.com"] }));
 * fastify.all("/mcp", (request, reply) => handler(request.raw, reply.hijack().raw, request.body));
 */
export function toNodeHandler(service: Service, options: HttpOptions = {}): NodeHandler {
  checkService("toNodeHandler", service);
  checkOptionNames("toNodeHandler", options, httpOptionNames);
  const endpoint = createEndpoint(service, options);
  const handle = (request: IncomingMessage, response: ServerResponse, body?: unknown): void => {
    if (request.rawHeaders === undefined) throw notOfNode();
    listen(endpoint, request, response, typeof body === "function" ? undefined : body);
  };
  return Object.assign(handle, { close: () => endpoint.close().then(endOfTurn) });
}

function notOfNode(): McpError {
  return new McpError(
    "invalid-params",
    "toNodeHandler takes the request and response of node:http; with Fastify call it with (request.raw, reply.hijack().raw, request.body), with Koa with (ctx.req, ctx.res)",
  );
}

/** Serves one request. `body` is what somebody else has read of it. */
export function listen(
  endpoint: HttpEndpoint,
  request: IncomingMessage,
  response: ServerResponse,
  body?: unknown,
): void {
  const head = new NodeHead(request);
  const admitted = endpoint.admit(head);
  if (!admitted.ok) return void turnAway(endpoint, request, response, admitted.answer);
  const { cors } = admitted;
  if (endpoint.identify === undefined)
    return void take(endpoint, { head, request, body }, new NodeReply(response, cors, endpoint));
  void endpoint.identify(head, cors).then((identified) => {
    if (response.destroyed) return;
    if (identified.ok)
      take(endpoint, { head: identified.head, request, body }, new NodeReply(response, cors, endpoint));
    else turnAway(endpoint, request, response, identified.answer);
  });
}

function turnAway(
  endpoint: HttpEndpoint,
  request: IncomingMessage,
  response: ServerResponse,
  answer: HttpAnswer,
): void {
  discardBody(request);
  sendAnswer(new NodeReply(response, noHeaders, endpoint), answer);
}

interface Arrived {
  readonly head: HttpRequestInfo;
  readonly request: IncomingMessage & { readonly body?: unknown };
  readonly body: unknown;
}

/** Reads the body of a request that may go on, and answers it. */
function take(endpoint: HttpEndpoint, { head, request, body }: Arrived, reply: NodeReply): void {
  if (request.method !== "POST") return void endpoint.handle(head, "", reply);
  if (request.readableDidRead || body !== undefined) {
    const read = body === undefined ? request.body : body;
    if (read === undefined) sendAnswer(reply, consumed);
    else endpoint.handle(head, textOf(read), reply);
    return;
  }
  readBody(request, endpoint.maxBodyBytes, (body) => {
    if (body.kind === "text") endpoint.handle(head, body.text, reply);
    else sendAnswer(reply, refuseBody(body.kind, endpoint.maxBodyBytes));
  });
}

const noHeaders = Object.freeze({});

class NodeHead implements HttpRequestInfo {
  readonly #request: IncomingMessage;

  constructor(request: IncomingMessage) {
    this.#request = request;
  }

  get method(): string {
    return this.#request.method ?? "";
  }

  /** Frameworks cut off the part of the path they were mounted at, and keep the whole. */
  get url(): string {
    const { originalUrl, url = "" } = this.#request as IncomingMessage & { originalUrl?: unknown };
    return typeof originalUrl === "string" ? originalUrl : url;
  }

  get remote(): string | undefined {
    return this.#request.socket.remoteAddress;
  }

  /** Looked for in what came: Node would make a table of all of them first, which costs more than the few that are asked for. */
  header(name: string): string | undefined {
    const { rawHeaders } = this.#request;
    let found: string | undefined;
    for (let at = 0; at < rawHeaders.length; at += 2) {
      const other = rawHeaders[at] as string;
      if (other.length !== name.length || (other !== name && other.toLowerCase() !== name)) continue;
      const value = rawHeaders[at + 1] as string;
      found = found === undefined ? value : `${found}, ${value}`;
    }
    return found;
  }
}

/** The answer where something else has read the body and does not say what it read: waiting for it would never end. */
const consumed: HttpAnswer = consumedBody(
  "toNodeHandler; pass what was read as its third argument, or mount it before the body parser",
);

/** What a framework made of a body, as text again. */
function textOf(body: unknown): string {
  if (typeof body === "string") return body;
  return Buffer.isBuffer(body) ? body.toString("utf8") : JSON.stringify(body);
}

function refuseBody(kind: Exclude<Body["kind"], "text">, maxBytes: number): HttpAnswer {
  return kind === "too-large"
    ? refusal(413, `the body is too large; send at most ${maxBytes} bytes`)
    : refusal(400, "the body is not valid UTF-8");
}

/** What a request holds, or why it cannot be had. */
type Body =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "too-large" }
  | { readonly kind: "not-utf8" };

/**
 * Reads the body of a request and hands it over once. Not at all when the client
 * leaves before the end.
 *
 * Reads by callback: an iteration costs a third of a small request. Node calls
 * back in the async context of the socket, so `done` is brought back into the
 * context of the caller, where it finds its `AsyncLocalStorage`.
 */
function readBody(request: IncomingMessage, maxBytes: number, done: (body: Body) => void): void {
  let chunks: Buffer[] | undefined;
  let first: Buffer | undefined;
  let size = 0;
  let isOver = false;
  const context = new AsyncResource("plugbay.readBody");

  const finish = (body: Body): void => {
    isOver = true;
    context.runInAsyncScope(done, undefined, body);
  };

  request.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (isOver) return limitWaste(request, size - maxBytes);
    if (size > maxBytes) return finish({ kind: "too-large" });
    if (first === undefined) first = chunk;
    else if (chunks === undefined) chunks = [first, chunk];
    else chunks.push(chunk);
  });
  request.on("end", () => {
    if (isOver) return;
    const bytes = chunks === undefined ? first : Buffer.concat(chunks, size);
    if (bytes === undefined) finish({ kind: "text", text: "" });
    else finish(isUtf8(bytes) ? { kind: "text", text: bytes.toString("utf8") } : { kind: "not-utf8" });
  });
}

/** A client hears of a refusal only when it has sent its body; that may not go on for ever. */
function discardBody(request: IncomingMessage): void {
  let size = 0;
  request.on("data", (chunk: Buffer) => {
    size += chunk.length;
    limitWaste(request, size);
  });
}

const MAX_WASTE = 67_108_864;

function limitWaste(request: IncomingMessage, bytes: number): void {
  if (bytes > MAX_WASTE) request.destroy();
}
