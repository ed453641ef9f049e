import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import type { JsonObject } from "../../src/json/json.ts";
import { createLog, type Log } from "../e2e/support/events.ts";
import { hello } from "./served.ts";
import { messagesIn, readBlocks, type SseBlock } from "./sse-text.ts";

export type RawHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface RawRequest {
  readonly method?: string;
  readonly path?: string;
  /** Besides those that every request needs. Undefined leaves one of those out. */
  readonly headers?: RawHeaders;
  /** A value is sent as JSON, a text as it is. */
  readonly body?: unknown;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** What the body holds, be it JSON or events. */
  readonly messages: readonly JsonObject[];
}

/** An answer that is read as it comes. */
export interface RawStream {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Everything that came, also what is no message. */
  readonly blocks: Log<SseBlock>;
  readonly messages: Log<JsonObject>;
  /** Resolves when it is over: ended by the server, or cut by either side. */
  readonly over: Promise<"ended" | "cut">;
  /** The last id that came. */
  readonly lastId: string | undefined;
  /** Reads no more until told to go on. */
  pause(): void;
  resume(): void;
  /** Breaks the connection. */
  destroy(): void;
}

/** A client that does only what it is told. Every request has a connection of its own. */
export interface RawClient {
  readonly port: number;
  request(request?: RawRequest): Promise<RawAnswer>;
  stream(request?: RawRequest): Promise<RawStream>;
  /** Sends bytes, and gives everything that comes back until the server closes. */
  bytes(...parts: readonly (string | Uint8Array)[]): Promise<string>;
  /** A bare connection. */
  socket(): Promise<RawSocket>;
}

export interface RawSocket {
  readonly socket: Socket;
  /** Resolves when what has come so far fits. */
  until(fits: (text: string) => boolean): Promise<string>;
  /** Resolves with everything when the other end has closed. */
  readonly closed: Promise<string>;
}

const both = "application/json, text/event-stream";

export function createRawClient(port: number): RawClient {
  const send = ({ method = "POST", path = "/mcp", headers = {}, body }: RawRequest): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const all = {
        accept: method === "GET" ? "text/event-stream" : both,
        ...(method === "POST" && { "content-type": "application/json" }),
        ...headers,
      };
      const known = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
      const sent = httpRequest({
        port,
        host: "127.0.0.1",
        method,
        path,
        headers: Object.fromEntries(known),
        agent: false,
      });
      sent.on("response", resolve);
      sent.on("error", reject);
      sent.end(
        body === undefined || typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body),
      );
    });

  const openSocket = (): Promise<RawSocket> =>
    new Promise((resolve, reject) => {
      const socket = connect({ port, host: "127.0.0.1" });
      const checks = new Set<() => void>();
      let text = "";
      socket.setEncoding("utf8");
      socket.on("data", (chunk: string) => {
        text += chunk;
        for (const check of checks) check();
      });
      socket.on("error", reject);
      const closed = new Promise<string>((over) => {
        socket.on("close", () => over(text));
      });
      const until: RawSocket["until"] = (fits) =>
        new Promise((found, lost) => {
          const check = (): void => {
            if (!fits(text)) return;
            checks.delete(check);
            found(text);
          };
          checks.add(check);
          check();
          void closed.then(() => lost(new Error(`closed before that: ${text}`)));
        });
      socket.on("connect", () => resolve({ socket, until, closed }));
    });

  return {
    port,
    async request(request = {}) {
      const response = await send(request);
      const body = await textOf(response);
      return {
        status: response.statusCode ?? 0,
        headers: response.headers,
        body,
        messages: messagesOf(response, body),
      };
    },
    stream: async (request = {}) => readStream(await send(request)),
    async bytes(...parts) {
      const { socket, closed } = await openSocket();
      for (const part of parts) socket.write(part);
      return closed;
    },
    socket: openSocket,
  };
}

function textOf(response: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    response.setEncoding("utf8");
    response.on("data", (chunk: string) => {
      text += chunk;
    });
    response.on("end", () => resolve(text));
    response.on("error", reject);
  });
}

function messagesOf({ headers }: IncomingMessage, body: string): readonly JsonObject[] {
  if (body === "") return [];
  if (headers["content-type"] === "text/event-stream") return messagesIn(body);
  if (headers["content-type"]?.startsWith("text/")) return [];
  const value: JsonObject | readonly JsonObject[] = JSON.parse(body);
  return Array.isArray(value) ? value : [value as JsonObject];
}

function readStream(response: IncomingMessage): RawStream {
  const blocks = createLog<SseBlock>();
  const messages = createLog<JsonObject>();
  let rest = "";
  let lastId: string | undefined;
  let isOver = false;

  const read = (chunk: string): void => {
    rest += chunk;
    const end = rest.lastIndexOf("\n\n") + 2;
    if (end < 2) return;
    const whole = rest.slice(0, end);
    rest = rest.slice(end);
    for (const block of readBlocks(whole)) {
      // A reader may break the connection in the middle of what has come; the rest it has not seen.
      if (isOver) return;
      lastId = block.id ?? lastId;
      blocks.add(block);
      if (block.message !== undefined) messages.add(block.message);
    }
  };

  response.setEncoding("utf8");
  response.on("data", read);
  response.on("error", () => {});
  const over = new Promise<"ended" | "cut">((resolve) => {
    response.on("close", () => resolve(response.complete ? "ended" : "cut"));
  });
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    blocks,
    messages,
    over,
    get lastId() {
      return lastId;
    },
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    destroy() {
      isOver = true;
      response.destroy();
    },
  };
}

/** A session that was opened by hand. */
export interface RawSession {
  readonly headers: { readonly "mcp-session-id": string; readonly "mcp-protocol-version": string };
  post(message: unknown): Promise<RawAnswer>;
  /** Posts, and reads the answer as it comes. */
  call(message: unknown): Promise<RawStream>;
  get(lastEventId?: string): Promise<RawStream>;
  end(): Promise<RawAnswer>;
}

export async function openRawSession(
  client: RawClient,
  { revision = "2025-11-25", capabilities = {} }: { revision?: string; capabilities?: JsonObject } = {},
): Promise<RawSession> {
  const body = { jsonrpc: "2.0", id: 0, method: "initialize", params: hello(revision, capabilities) };
  const opened = await client.request({ body });
  const id = opened.headers["mcp-session-id"];
  if (typeof id !== "string") throw new Error(`no session: ${opened.status} ${opened.body}`);
  const headers = { "mcp-session-id": id, "mcp-protocol-version": revision };
  const post = (message: unknown): Promise<RawAnswer> => client.request({ headers, body: message });
  await post({ jsonrpc: "2.0", method: "notifications/initialized" });
  return {
    headers,
    post,
    call: (message) => client.stream({ headers, body: message }),
    get: (lastEventId) => {
      const resuming = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
      return client.stream({ method: "GET", headers: { ...headers, ...resuming } });
    },
    end: () => client.request({ method: "DELETE", headers }),
  };
}
