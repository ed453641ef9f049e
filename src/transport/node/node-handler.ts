import type { IncomingMessage, ServerResponse } from "node:http";
import type { Service } from "../../model/service.ts";
import type { HttpFacts } from "../../std/http-facts.ts";
import { createEndpoint, type HttpEndpoint } from "../http/endpoint.ts";
import { type HttpAnswer, refusal } from "../http/http-message.ts";
import { sendAnswer } from "../http/http-reply.ts";
import type { HttpOptions } from "../http/options.ts";
import { endOfTurn } from "./end-of-turn.ts";
import { NodeReply } from "./node-reply.ts";
import { type Body, discardBody, readBody } from "./read-body.ts";

/** Serves requests of Node's `http` module, and of frameworks built on it. */
export interface NodeHandler {
  (request: IncomingMessage, response: ServerResponse): void;
  /** Takes nothing new, answers what is open for a while, then ends the rest. Idempotent. */
  close(): Promise<void>;
}

/**
 * A request listener for `node:http`, Express, Fastify or Connect.
 *
 * Where a framework has read the body already, what it made of it is used.
 *
 * @example
 * app.all("/mcp", nodeHandler(shop, { allowedHosts: ["api.example.com"] }));
 */
export function nodeHandler(service: Service, options: HttpOptions = {}): NodeHandler {
  const endpoint = createEndpoint(service, options);
  const handle = (request: IncomingMessage, response: ServerResponse): void => listen(endpoint, request, response);
  return Object.assign(handle, { close: () => endpoint.close().then(endOfTurn) });
}

/** Serves one request. */
export function listen(endpoint: HttpEndpoint, request: IncomingMessage, response: ServerResponse): void {
  const head = new NodeHead(request);
  const admitted = endpoint.admit(head);
  if (!admitted.ok) return void turnAway(request, response, admitted.answer);
  const { cors } = admitted;
  if (endpoint.identify === undefined) return void take(endpoint, head, request, new NodeReply(response, cors));
  void endpoint.identify(head, cors).then((identified) => {
    if (response.destroyed) return;
    if (identified.ok) take(endpoint, identified.head, request, new NodeReply(response, cors));
    else turnAway(request, response, identified.answer);
  });
}

function turnAway(request: IncomingMessage, response: ServerResponse, answer: HttpAnswer): void {
  discardBody(request);
  sendAnswer(new NodeReply(response, noHeaders), answer);
}

/** Reads the body of a request that may go on, and answers it. */
function take(endpoint: HttpEndpoint, head: HttpFacts, request: IncomingMessage, reply: NodeReply): void {
  if (request.method !== "POST") return void endpoint.handle(head, "", reply);
  const read = parsedBody(request);
  if (read !== undefined) return void endpoint.handle(head, read, reply);
  readBody(request, endpoint.maxBodyBytes, (body) => {
    if (body.kind === "text") endpoint.handle(head, body.text, reply);
    else sendAnswer(reply, refuseBody(body.kind, endpoint.maxBodyBytes));
  });
}

const noHeaders = Object.freeze({});

class NodeHead implements HttpFacts {
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

/** What a framework made of the body, as text again; undefined when nobody has read it. */
function parsedBody(request: IncomingMessage & { body?: unknown }): string | undefined {
  const { body } = request;
  if (body === undefined || !request.readableEnded) return undefined;
  if (typeof body === "string") return body;
  return Buffer.isBuffer(body) ? body.toString("utf8") : JSON.stringify(body);
}

function refuseBody(kind: Exclude<Body["kind"], "text">, maxBytes: number): HttpAnswer {
  return kind === "too-large"
    ? refusal(413, `the body is too large; send at most ${maxBytes} bytes`)
    : refusal(400, "the body is not valid UTF-8");
}
