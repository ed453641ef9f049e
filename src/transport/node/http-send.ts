import { isUtf8 } from "node:buffer";
import type { Agent, AgentOptions, ClientRequest, IncomingMessage } from "node:http";
import * as http from "node:http";
import type { Socket } from "node:net";
import { McpError } from "../../protocol/errors.ts";
import { guardedLookup } from "../../std/node/guarded-lookup.ts";
import { type AddressGuard, addressRefusal } from "../http/client/address-guard.ts";
import { tooLarge } from "../http/client/http-errors.ts";
import type { HttpSend, IncomingResponse } from "../http/http-message.ts";
import { type Ending, endings } from "./write-batch.ts";

/**
 * Sends requests by the platform's own client. Connections are kept and shared
 * by all of a process, but none that was not guarded by those that are.
 */
export async function nodeSend(protocol: string, guard?: AddressGuard): Promise<HttpSend> {
  const key = `${protocol} ${guard?.key}`;
  const known = senders.get(key);
  if (known !== undefined) return known;
  // The code for TLS is loaded on first use.
  const made = senderOf(protocol === "https:" ? await import("node:https") : http, guard);
  senders.set(key, made);
  return made;
}

/** One a process and guard, so that every client finds the connections of the others. */
const senders = new Map<string, HttpSend>();

interface Platform {
  readonly Agent: new (options: AgentOptions) => Agent;
  readonly request: typeof http.request;
}

function senderOf({ Agent, request }: Platform, guard: AddressGuard | undefined): HttpSend {
  // A proxy would resolve names by itself, out of sight of the guard.
  const way = guard === undefined ? envProxy : { lookup: guardedLookup(guard.allows, addressRefusal) };
  // A connection that is not in use keeps no process alive.
  const agent = new Agent({ keepAlive: true, ...way });
  const toHeaders = guard !== undefined || envProxy === undefined ? fieldsOf : tableOf;
  const sweep = sweepIdle(agent);
  const places = new WeakMap<URL, Place>();

  const placeOf = (url: URL): Place => {
    let place = places.get(url);
    if (place === undefined) {
      place = toPlace(url);
      places.set(url, place);
    }
    return place;
  };

  return ({ method, url, headers, body }, abort) =>
    new Promise((resolve, reject) => {
      const place = placeOf(url);
      const outgoing = request({
        method,
        agent,
        protocol: place.protocol,
        host: place.host,
        port: place.port,
        path: place.path,
        headers: toHeaders(place, headers, body),
      });
      const unlisten = abort.onAbort(() => outgoing.destroy(new Error("the request was given up")));
      outgoing.on("response", (incoming) => resolve(new NodeResponse(incoming, outgoing, unlisten)));
      outgoing.on("error", (error) => {
        unlisten();
        reject(error);
      });
      endings.add(new Sending(outgoing, body));
      sweep();
    });
}

/** A request that is on its way once others of its turn are made, too. */
class Sending implements Ending {
  readonly #request: ClientRequest;
  readonly #body: string | undefined;

  constructor(request: ClientRequest, body: string | undefined) {
    this.#request = request;
    this.#body = body;
  }

  finish(): void {
    this.#request.end(this.#body);
  }
}

/**
 * Options of an agent that uses the proxies of the environment, where `NODE_USE_ENV_PROXY` asks for it. Node can do it since
 * 22.21 and 24.5; older ones ignore the option.
 */
export const envProxy: AgentOptions | undefined =
  process.env.NODE_USE_ENV_PROXY === "1" ? ({ proxyEnv: process.env } as AgentOptions) : undefined;

interface Place {
  readonly protocol: string;
  readonly host: string;
  readonly port: string | undefined;
  readonly path: string;
  readonly hostHeader: string;
}

/** Where a URL leads. Taking one apart costs more than a small request should, so it is done once. */
function toPlace({ protocol, host, hostname, port, pathname, search }: URL): Place {
  return {
    protocol,
    host: hostname.startsWith("[") ? hostname.slice(1, -1) : hostname,
    port: port === "" ? undefined : port,
    path: `${pathname}${search}`,
    hostHeader: host,
  };
}

/** Names and values in turn: written as they are, without a table of them being made first. */
function fieldsOf(
  { hostHeader }: Place,
  headers: Readonly<Record<string, string>>,
  body: string | undefined,
): http.OutgoingHttpHeaders {
  const fields = ["host", hostHeader];
  for (const name in headers) fields.push(name, headers[name] as string);
  if (body !== undefined) fields.push("content-length", String(Buffer.byteLength(body)));
  return fields as unknown as http.OutgoingHttpHeaders;
}

/** The same as a table, in which a proxy can still change something. */
function tableOf(
  { hostHeader }: Place,
  headers: Readonly<Record<string, string>>,
  body: string | undefined,
): http.OutgoingHttpHeaders {
  const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
  return { host: hostHeader, ...headers, ...length };
}

class NodeResponse implements IncomingResponse {
  readonly status: number;
  readonly #incoming: IncomingMessage;
  readonly #outgoing: ClientRequest;
  readonly #unlisten: () => void;

  constructor(incoming: IncomingMessage, outgoing: ClientRequest, unlisten: () => void) {
    this.status = incoming.statusCode ?? 0;
    this.#incoming = incoming;
    this.#outgoing = outgoing;
    this.#unlisten = unlisten;
  }

  header(name: string): string | undefined {
    const value = this.#incoming.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }

  text(maxBytes: number): Promise<string> {
    let first: Uint8Array | undefined;
    let rest: Uint8Array[] | undefined;
    let size = 0;
    const keep = (chunk: Uint8Array): undefined => {
      size += chunk.length;
      if (size > maxBytes) throw tooLarge("the response", maxBytes);
      if (first === undefined) first = chunk;
      else if (rest === undefined) rest = [first, chunk];
      else rest.push(chunk);
    };
    return new Promise((resolve, reject) => {
      const finish = (): void => {
        const bytes = rest === undefined ? (first as Buffer | undefined) : Buffer.concat(rest, size);
        if (bytes === undefined) resolve("");
        else if (isUtf8(bytes)) resolve(bytes.toString("utf8"));
        else reject(new McpError("invalid-response", "the response is not valid UTF-8"));
      };
      this.#listen(keep, finish, reject);
    });
  }

  read(take: (chunk: Uint8Array) => Promise<void> | undefined): Promise<void> {
    return new Promise((resolve, reject) => this.#listen(take, resolve, reject));
  }

  #listen(take: (chunk: Uint8Array) => Promise<void> | undefined, end: () => void, fail: (error: unknown) => void) {
    const incoming = this.#incoming;
    const encoding = incoming.headers["content-encoding"];
    const giveUp = (error: unknown): void => {
      this.#unlisten();
      fail(error);
      this.#outgoing.destroy();
    };
    incoming.on("error", giveUp);
    if (encoding !== undefined && encoding !== "identity") {
      return giveUp(new McpError("invalid-response", "the response is compressed, which was not asked for"));
    }
    incoming.on("data", (chunk: Uint8Array) => {
      try {
        const busy = take(chunk);
        if (busy === undefined) return;
        incoming.pause();
        busy.then(() => incoming.resume(), giveUp);
      } catch (error) {
        giveUp(error);
      }
    });
    incoming.on("end", () => {
      this.#unlisten();
      end();
    });
  }

  discard(): void {
    this.#unlisten();
    const incoming = this.#incoming;
    incoming.on("error", () => {});
    const length = Number(incoming.headers["content-length"] ?? (isEmpty(this.status) ? 0 : Number.NaN));
    // What is short is read to its end, for the sake of the connection.
    if (length <= cheapBytes) incoming.resume();
    else this.#outgoing.destroy();
  }
}

const cheapBytes = 65_536;

/** Answers that have no body, or should have none. */
function isEmpty(status: number): boolean {
  return status === 202 || status === 204 || status === 304;
}

/** How often idle connections are looked at. One is closed after it was idle for one to two of these. */
const sweepMs = 2_000;

/**
 * Closes connections that were idle for a while, before their servers do: a request
 * on a connection that the server is just closing gets no response.
 *
 * Call the returned function after every request. It costs nothing, unlike a timer
 * for each connection.
 */
export function sweepIdle(agent: Agent): () => void {
  let seen = new Map<Socket, number>();
  let timer: NodeJS.Timeout | undefined;

  const sweep = (): void => {
    const idle = Object.values(agent.freeSockets).flatMap((sockets) => sockets ?? []);
    const [stale, fresh] = [
      idle.filter((socket) => seen.get(socket) === socket.bytesWritten),
      idle.filter((socket) => seen.get(socket) !== socket.bytesWritten),
    ];
    for (const socket of stale) socket.destroy();
    seen = new Map(fresh.map((socket) => [socket, socket.bytesWritten]));
    if (fresh.length > 0 || Object.keys(agent.sockets).length > 0) return;
    clearInterval(timer);
    timer = undefined;
  };

  return () => {
    timer ??= setInterval(sweep, sweepMs).unref();
  };
}
