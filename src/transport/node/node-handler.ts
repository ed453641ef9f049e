// biome-ignore lint/suspicious/noTsIgnore: here the types are there, for users they need not be
/** @ts-ignore Without `@types/node` these are `any`. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { McpError } from "../../protocol/errors.ts";
import { checkOptionNames, checkService, type OptionNames } from "../../protocol/option-names.ts";
import { type KnownPlatform, once } from "../../protocol/platform.ts";
import type { Service } from "../../protocol/service.ts";
import type { HttpRequestInfo } from "../../std/http-request-info.ts";
import { createEndpoint, type EndpointOptions, type HttpEndpoint } from "../http/endpoint.ts";
import type { EndpointStatus } from "../http/endpoint-status.ts";
import type { ConnectionCallers } from "../http/http-callers.ts";
import { consumedBody, type HttpAnswer, refusal, sendAnswer } from "../http/http-message.ts";
import { limitAnswer } from "../http/limit-answer.ts";
import { formerHttpOptions, type HttpOptions, httpOptionNames, movedOptions } from "../http/options.ts";
import { RequestHold } from "../http/request-hold.ts";
import { NodeReply } from "./node-reply.ts";
import { type Body, discardBody, LEAST_PIECE, readBody } from "./read-body.ts";
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
  /** What is held for clients, by kind, and what this process may hold. */
  status(): EndpointStatus;
}

/** What makes `ctx.platform` of a request of Node. */
export interface NodePlatformOptions {
  /**
   * Returns what handlers get as `ctx.platform`: of the request, as a framework has extended it, and of its response. Called
   * once for a request, when a handler first reads it.
   */
  readonly platform?: ((request: IncomingMessage, response: ServerResponse) => KnownPlatform) | undefined;
}

export interface NodeHandlerOptions extends HttpOptions, NodePlatformOptions {}

const nodeHandlerOptionNames: OptionNames<NodeHandlerOptions> = { ...httpOptionNames, platform: true };

/** An endpoint, and what makes `ctx.platform` there. */
export type NodeEndpoint = HttpEndpoint & NodePlatformOptions;

export function createNodeEndpoint(
  service: Service,
  { platform, ...options }: NodeHandlerOptions & EndpointOptions,
  owner: string,
): NodeEndpoint {
  const endpoint = createEndpoint(service, options, owner);
  return Object.assign(endpoint, { platform });
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
export function toNodeHandler(service: Service, options: NodeHandlerOptions = {}): NodeHandler {
  checkService("toNodeHandler", service);
  checkOptionNames("toNodeHandler", options, nodeHandlerOptionNames, { ...formerHttpOptions, ...movedOptions });
  const endpoint = createNodeEndpoint(service, options, "toNodeHandler");
  const handle = (request: IncomingMessage, response: ServerResponse, body?: unknown): void => {
    if (request.rawHeaders === undefined) throw notOfNode();
    listen(endpoint, request, response, typeof body === "function" ? undefined : body);
  };
  return Object.assign(handle, { close: () => endpoint.close().then(endOfTurn), status: endpoint.status });
}

function notOfNode(): McpError {
  return new McpError(
    "invalid-params",
    "toNodeHandler takes the request and response of node:http; with Fastify call it with (request.raw, reply.hijack().raw, request.body), with Koa with (ctx.req, ctx.res)",
  );
}

/** Serves one request. `body` is the part of it that was read already. */
export function listen(
  endpoint: NodeEndpoint,
  request: IncomingMessage,
  response: ServerResponse,
  body?: unknown,
): void {
  // Of requests that come one after the other without waiting for answers, one is worked on at a time.
  if (response.socket === null && request.socket !== null) takeTurn(endpoint, request, response, body);
  else serve(endpoint, request, response, body);
}

/**
 * The caller of a connection, stored with it, because a table of all connections would be searched for every request.
 */
const callersKey: unique symbol = Symbol("plugbay.callers");

function callersOf(endpoint: HttpEndpoint, { socket }: IncomingMessage): ConnectionCallers {
  const connection = socket as Socket & { [callersKey]?: ConnectionCallers };
  const known = connection[callersKey];
  if (known?.endpoint === endpoint) return known;
  const callers = endpoint.createCallers();
  connection[callersKey] = callers;
  return callers;
}

/** What a request takes that waits for the answer to the one before it, in bytes. */
const WAITING_BYTES = 4_096;

/** Serves a request when those before it are answered. Until then its connection is not read. */
function takeTurn(endpoint: NodeEndpoint, request: IncomingMessage, response: ServerResponse, body: unknown): void {
  const { socket } = request;
  const { share } = callersOf(endpoint, request).byAddress(new NodeHead(request));
  const short = share.shortage("openRequests");
  const held = new RequestHold(share);
  if (short !== undefined || held.take(WAITING_BYTES) !== undefined) {
    held.release();
    return void socket.destroy();
  }
  let isWaiting = true;
  const endWait = (): boolean => {
    const wasWaiting = isWaiting;
    isWaiting = false;
    if (wasWaiting) held.release();
    return wasWaiting;
  };
  socket.pause();
  response.once("socket", () => {
    if (!endWait()) return;
    socket.resume();
    serve(endpoint, request, response, body);
  });
  // Its body is not read yet, so this is the end of its connection.
  request.once("close", endWait);
}

function serve(endpoint: NodeEndpoint, request: IncomingMessage, response: ServerResponse, body: unknown): void {
  const { platform } = endpoint;
  const head = new NodeHead(request, platform && once(() => platform(request, response)));
  const callers = callersOf(endpoint, request);
  const admitted = endpoint.admit(head);
  if (!admitted.ok) {
    const reply = new NodeReply(response, noHeaders, endpoint, callers.byAddress(head));
    return void turnAway(request, admitted.answer, reply);
  }
  const { cors } = admitted;
  if (endpoint.identify === undefined)
    return void take(endpoint, { head, request, body }, new NodeReply(response, cors, endpoint, callers.of(head)));
  void endpoint.identify(head, cors, callers.byAddress(head).share).then((identified) => {
    if (response.destroyed) return;
    const known = identified.ok ? identified.head : head;
    const reply = new NodeReply(response, identified.ok ? cors : noHeaders, endpoint, callers.of(known));
    if (identified.ok) take(endpoint, { head: known, request, body }, reply);
    else turnAway(request, identified.answer, reply);
  });
}

function turnAway(request: IncomingMessage, answer: HttpAnswer, reply: NodeReply): void {
  discardBody(request);
  sendAnswer(reply, answer);
}

interface Arrived {
  readonly head: HttpRequestInfo;
  readonly request: IncomingMessage & { readonly body?: unknown };
  readonly body: unknown;
}

/** Reads the body of an admitted request, and answers it. */
function take(endpoint: NodeEndpoint, { head, request, body }: Arrived, reply: NodeReply): void {
  if (request.method !== "POST") return void endpoint.handle(head, "", reply);
  if (request.readableDidRead || body !== undefined) {
    const read = body === undefined ? request.body : body;
    if (read === undefined) return void sendAnswer(reply, consumed);
    const text = textOf(read);
    const short = reply.held.take(text.length);
    if (short === undefined) endpoint.handle(head, text, reply);
    else sendAnswer(reply, limitAnswer(short));
    return;
  }
  readBody(request, endpoint, reply.held, (body) => {
    if (body.kind === "text") return endpoint.handle(head, body.text, reply);
    if (body.kind === "too-many-pieces") reply.endConnection();
    if (body.kind === "too-large") endpoint.refusals?.answered(head, 413);
    sendAnswer(reply, refuseBody(body, endpoint.maxMessageBytes));
  });
}

const noHeaders = Object.freeze({});

/** The head of a request of Node. */
export class NodeHead implements HttpRequestInfo {
  readonly platform: HttpRequestInfo["platform"];
  readonly #request: IncomingMessage;

  constructor(request: IncomingMessage, platform?: HttpRequestInfo["platform"]) {
    this.#request = request;
    this.platform = platform;
  }

  get method(): string {
    return this.#request.method ?? "";
  }

  /** Frameworks cut off the part of the path they were mounted at, and keep the whole. */
  get url(): string {
    const { originalUrl, url = "" } = this.#request as IncomingMessage & { originalUrl?: unknown };
    return typeof originalUrl === "string" ? originalUrl : url;
  }

  get remoteAddress(): string | undefined {
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

function refuseBody(body: Exclude<Body, { readonly kind: "text" }>, maxBytes: number): HttpAnswer {
  if (body.kind === "no-room") return limitAnswer(body.short);
  if (body.kind === "too-many-pieces")
    return refusal(400, `the body comes in pieces of less than ${LEAST_PIECE} bytes; send larger ones`);
  return body.kind === "too-large"
    ? refusal(413, `the body is too large; send at most ${maxBytes} bytes`)
    : refusal(400, "the body is not valid UTF-8");
}
