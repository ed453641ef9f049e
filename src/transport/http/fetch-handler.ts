import type { Service } from "../../model/service.ts";
import type { HttpFacts } from "../../std/http-facts.ts";
import { createEndpoint } from "./endpoint.ts";
import { type HttpAnswer, type HttpHeaders, refusal } from "./http-message.ts";
import type { EventSink, HttpReply } from "./http-reply.ts";
import type { HttpOptions } from "./options.ts";
import { readText } from "./read-text.ts";

/** Serves the requests of platforms that speak in terms of the Fetch standard. */
export interface FetchHandler {
  (request: Request): Promise<Response>;
  /** Takes nothing new, answers what is open for a while, then ends the rest. Idempotent. */
  close(): Promise<void>;
}

/**
 * A handler for Workers, Deno, Bun, Hono, Next and whatever else takes a
 * `Request` and gives a `Response`.
 *
 * Sessions of older revisions live in the memory of this process: where requests
 * of one client may reach different ones, say `sessions: false`.
 *
 * @example
 * export default { fetch: toFetchHandler(shop, { allowedHosts: ["shop.example.com"] }) };
 */
export function toFetchHandler(service: Service, options: HttpOptions = {}): FetchHandler {
  const endpoint = createEndpoint(service, options);

  const handle = async (request: Request): Promise<Response> => {
    const head = new FetchHead(request);
    const admitted = endpoint.admit(head);
    if (!admitted.ok) return toResponse(admitted.answer);
    const identified =
      endpoint.identify === undefined ? { ok: true as const, head } : await endpoint.identify(head, admitted.cors);
    if (!identified.ok) return toResponse(identified.answer);
    const body = request.method === "POST" ? await readText(request, endpoint.maxBodyBytes) : { text: "" };
    if (!("text" in body)) return toResponse(refusal(body.status, body.problem, admitted.cors));
    return new Promise((resolve) => {
      endpoint.handle(identified.head, body.text, new FetchReply(request.signal, admitted.cors, resolve));
    });
  };

  return Object.assign(handle, { close: endpoint.close });
}

class FetchHead implements HttpFacts {
  readonly method: string;
  readonly url: string;
  readonly #headers: Headers;
  readonly #host: string;

  constructor(request: Request) {
    const { pathname, search, host } = new URL(request.url);
    this.method = request.method;
    this.url = pathname + search;
    this.#headers = request.headers;
    this.#host = host;
  }

  /** Platforms that parse the request themselves keep its host in the URL. */
  header(name: string): string | undefined {
    return this.#headers.get(name) ?? (name === "host" ? this.#host : undefined);
  }
}

class FetchReply implements HttpReply {
  readonly #signal: AbortSignal;
  readonly #always: HttpHeaders;
  readonly #resolve: (response: Response) => void;
  readonly #listeners: (() => void)[] = [];
  #phase: "waiting" | "answered" | "gone" = "waiting";

  constructor(signal: AbortSignal, always: HttpHeaders, resolve: (response: Response) => void) {
    this.#signal = signal;
    this.#always = always;
    this.#resolve = resolve;
    if (signal.aborted) this.#leave();
    else signal.addEventListener("abort", this.#leave, { once: true });
  }

  send(status: number, headers: HttpHeaders, body: string): void {
    if (this.#phase !== "waiting") return;
    this.#finish();
    this.#resolve(toResponse({ status, headers: { ...headers, ...this.#always }, body }));
  }

  open(headers: HttpHeaders): EventSink {
    const sink = new FetchSink(this.#leave, () => this.#finish());
    this.#resolve(new Response(sink.body, { status: 200, headers: { ...headers, ...this.#always } }));
    return sink;
  }

  onGone(listener: () => void): void {
    if (this.#phase === "gone") listener();
    else this.#listeners.push(listener);
  }

  #finish(): void {
    this.#phase = "answered";
    this.#signal.removeEventListener("abort", this.#leave);
  }

  readonly #leave = (): void => {
    if (this.#phase !== "waiting") return;
    this.#phase = "gone";
    this.#signal.removeEventListener("abort", this.#leave);
    for (const listener of this.#listeners) listener();
    this.#resolve(new Response(null, { status: 499 }));
  };
}

/** More unread bytes than this make `write` return a promise. */
const HIGH_WATER = 65_536;

class FetchSink implements EventSink {
  readonly body: ReadableStream<Uint8Array>;
  readonly #encoder = new TextEncoder();
  readonly #gone: () => void;
  readonly #done: () => void;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #room: { readonly wait: Promise<void>; readonly release: () => void } | undefined;

  constructor(gone: () => void, done: () => void) {
    this.#gone = gone;
    this.#done = done;
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#release(),
        cancel: () => {
          this.#controller = undefined;
          this.#release();
          gone();
        },
      },
      { highWaterMark: HIGH_WATER, size: (chunk) => chunk.byteLength },
    );
  }

  write(text: string): Promise<void> | undefined {
    if (this.#controller === undefined) return undefined;
    this.#controller.enqueue(this.#encoder.encode(text));
    if ((this.#controller.desiredSize ?? 0) > 0) return undefined;
    this.#room ??= createRoom();
    return this.#room.wait;
  }

  end(text?: string): void {
    if (this.#controller === undefined) return;
    if (text !== undefined) this.#controller.enqueue(this.#encoder.encode(text));
    this.#controller.close();
    this.#controller = undefined;
    this.#release();
    this.#done();
  }

  destroy(): void {
    if (this.#controller === undefined) return;
    this.#controller.error(new Error("the client does not read"));
    this.#controller = undefined;
    this.#release();
    // As with sockets, who writes right now hears of it later.
    queueMicrotask(this.#gone);
  }

  get backlog(): number {
    return HIGH_WATER - (this.#controller?.desiredSize ?? HIGH_WATER);
  }

  #release(): void {
    this.#room?.release();
    this.#room = undefined;
  }
}

function createRoom(): { readonly wait: Promise<void>; readonly release: () => void } {
  let release = (): void => {};
  const wait = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { wait, release };
}

function toResponse({ status, headers, body }: HttpAnswer): Response {
  return new Response(body === "" ? null : body, { status, headers });
}
