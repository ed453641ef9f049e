import { isObject, type JsonObject } from "../../src/json/json.ts";
import { asyncQueue } from "../../src/std/async-queue.ts";
import { type SseFrame, sseEvent } from "../../src/std/sse.ts";
import { tooLarge } from "../../src/transport/http/client/http-errors.ts";
import type { HttpSend, IncomingResponse, OutgoingRequest } from "../../src/transport/http/http-message.ts";

type Headers = Readonly<Record<string, string>>;

/** An HTTP server that does what a test says, request by request, without a socket. */
export interface FakeHttp {
  /** How the code under test reaches it. */
  readonly send: HttpSend;
  /** Everything that was sent to it. */
  readonly requests: readonly FakeRequest[];
  /** The next POST of this JSON-RPC method, or the next request of this HTTP method; others are skipped. */
  expect(method: string): Promise<FakeRequest>;
  /** What was sent, in words: the JSON-RPC method of a POST, `answer` for a response, else the HTTP method. */
  said(): readonly string[];
}

/** One request, and the means to answer it. */
export interface FakeRequest extends OutgoingRequest {
  readonly message: JsonObject;
  readonly id: string | number;
  readonly aborted: boolean;
  /** True when the client let go of the answer. */
  readonly discarded: boolean;
  /** Answers with a JSON-RPC result. */
  result(result: JsonObject, headers?: Headers): void;
  /** Answers with a JSON-RPC error. */
  error(code: number, message?: string, options?: { status?: number; data?: JsonObject; id?: null }): void;
  /** Answers with any body. */
  reply(status: number, headers?: Headers, body?: string | Uint8Array): void;
  /** Answers with a stream that stays open. */
  stream(headers?: Headers, status?: number): FakeStream;
  /** No answer comes. */
  fail(error: Error): void;
}

export interface FakeStream {
  /** Sends a message as an event. */
  say(message: JsonObject, frame?: Omit<SseFrame, "data">): void;
  raw(text: string): void;
  end(): void;
  break(error?: Error): void;
  /** Resolves when the client has taken all that was said. */
  taken(): Promise<void>;
  /** True when the client is not ready for more. */
  readonly paused: boolean;
  readonly discarded: boolean;
}

export function createFakeHttp(): FakeHttp {
  const requests: FakeRequest[] = [];
  const arrived = asyncQueue<FakeRequest>();
  const reader = arrived[Symbol.asyncIterator]();

  return {
    send: (outgoing, abort) =>
      new Promise((resolve, reject) => {
        const request = createRequest(outgoing, resolve, reject);
        abort.onAbort(() => request.abort());
        requests.push(request);
        arrived.push(request);
      }),
    requests,
    async expect(method) {
      for (;;) {
        const { value } = await reader.next();
        if (value !== undefined && (value.message.method === method || value.method === method)) return value;
      }
    },
    said: () =>
      requests.map(({ method, message }) => (method === "POST" ? String(message.method ?? "answer") : method)),
  };
}

type Resolve = (response: IncomingResponse) => void;

function createRequest(
  outgoing: OutgoingRequest,
  resolve: Resolve,
  reject: (error: Error) => void,
): FakeRequest & { abort(): void } {
  const parsed: unknown = outgoing.body === undefined ? {} : JSON.parse(outgoing.body);
  const message = isObject(parsed) ? parsed : {};
  const state = { aborted: false, discarded: false };
  const body = createBody(state);

  const reply = (status: number, headers: Headers, chunks: readonly Uint8Array[]): void => {
    resolve(createResponse(status, headers, body));
    for (const chunk of chunks) body.push(chunk);
  };
  const json = (status: number, value: JsonObject, headers: Headers = {}): void => {
    reply(status, { "content-type": "application/json", ...headers }, [toBytes(JSON.stringify(value))]);
    body.end();
  };

  return {
    ...outgoing,
    message,
    id: message.id as string | number,
    get aborted() {
      return state.aborted;
    },
    get discarded() {
      return state.discarded;
    },
    result: (result, headers) => json(200, { jsonrpc: "2.0", id: message.id, result }, headers),
    error(code, text = "no", { status = 200, data, id } = {}) {
      const error = { code, message: text, ...(data !== undefined && { data }) };
      json(status, { jsonrpc: "2.0", id: id === null ? null : message.id, error });
    },
    reply(status, headers = {}, text = "") {
      reply(status, headers, [typeof text === "string" ? toBytes(text) : text]);
      body.end();
    },
    stream(headers = {}, status = 200) {
      reply(status, { "content-type": "text/event-stream", ...headers }, []);
      return {
        say: (said, frame) => body.push(toBytes(sseEvent({ data: JSON.stringify(said), ...frame }))),
        raw: (text) => body.push(toBytes(text)),
        end: body.end,
        break: (error = new Error("reset")) => body.break(error),
        taken: body.taken,
        get paused() {
          return body.paused;
        },
        get discarded() {
          return state.discarded || state.aborted;
        },
      };
    },
    fail: reject,
    abort() {
      state.aborted = true;
      reject(new Error("given up"));
      body.break(new Error("given up"));
    },
  };
}

interface Body {
  push(chunk: Uint8Array): void;
  end(): void;
  break(error: Error): void;
  read(take: (chunk: Uint8Array) => Promise<void> | undefined): Promise<void>;
  taken(): Promise<void>;
  discard(): void;
  readonly paused: boolean;
}

function createBody(state: { discarded: boolean }): Body {
  const chunks = asyncQueue<Uint8Array>();
  let paused = false;
  let untaken = 0;
  let idle: (() => void)[] = [];

  return {
    push(chunk) {
      untaken++;
      chunks.push(chunk);
    },
    end: () => chunks.end(),
    break: (error) => chunks.fail(error),
    async read(take) {
      for await (const chunk of chunks) {
        const busy = take(chunk);
        paused = busy !== undefined;
        if (busy !== undefined) await busy;
        paused = false;
        if (--untaken > 0) continue;
        for (const wake of idle) wake();
        idle = [];
      }
    },
    taken: () =>
      untaken === 0
        ? Promise.resolve()
        : new Promise((resolve) => {
            idle.push(resolve);
          }),
    discard() {
      state.discarded = true;
      chunks.fail(new Error("discarded"));
    },
    get paused() {
      return paused;
    },
  };
}

function createResponse(status: number, headers: Headers, body: Body): IncomingResponse {
  return {
    status,
    header: (name) => headers[name],
    async text(maxBytes) {
      const decoder = new TextDecoder();
      let text = "";
      await body.read((chunk) => {
        text += decoder.decode(chunk, { stream: true });
        if (text.length > maxBytes) throw tooLarge("the response", maxBytes);
        return undefined;
      });
      return text;
    },
    read: body.read,
    discard: body.discard,
  };
}

function toBytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
