import { checkOptionNames, checkService, type OptionNames } from "../../protocol/option-names.ts";
import { type KnownPlatform, once } from "../../protocol/platform.ts";
import type { Service } from "../../protocol/service.ts";
import { type Clock, systemClock } from "../../std/clock.ts";
import type { HttpRequestInfo } from "../../std/http-request-info.ts";
import { type Linked, LinkedSet } from "../../std/linked-set.ts";
import { createEndpoint } from "./endpoint.ts";
import type { EndpointStatus } from "./endpoint-status.ts";
import { FetchReply, toResponse } from "./fetch-reply.ts";
import { consumedBody, type HttpAnswer, refusal, sendAnswer } from "./http-message.ts";
import { limitAnswer } from "./limit-answer.ts";
import { formerHttpOptions, type HttpOptions, httpOptionNames, movedOptions } from "./options.ts";
import type { RequestHold } from "./request-hold.ts";

/** Serves the requests of platforms that speak in terms of the Fetch standard. `A` is what the platform passes besides. */
export interface FetchHandler<A extends readonly unknown[] = readonly unknown[]> {
  /** What the platform passes besides reaches the option `platform`, and is used for the `waitUntil` of Cloudflare Workers. */
  (request: Request, ...platformArguments: A): Promise<Response>;
  /** Takes nothing new, answers what is open for a while, then ends the rest. Idempotent. */
  close(): Promise<void>;
  /** What is held for clients, by kind, and what this process may hold. */
  status(): EndpointStatus;
}

export interface FetchHandlerOptions<A extends readonly unknown[] = readonly unknown[]> extends HttpOptions {
  /**
   * Returns what handlers get as `ctx.platform`, of the request and of what the platform passes besides. Called once for a
   * request, when a handler first reads it.
   */
  readonly platform?: ((request: Request, ...platformArguments: A) => KnownPlatform) | undefined;
}

const fetchHandlerOptionNames: OptionNames<FetchHandlerOptions> = { ...httpOptionNames, platform: true };

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
export function toFetchHandler<A extends readonly unknown[] = readonly unknown[]>(
  service: Service,
  options: FetchHandlerOptions<A> = {},
): FetchHandler<A> {
  checkService("toFetchHandler", service);
  checkOptionNames("toFetchHandler", options, fetchHandlerOptionNames, { ...formerHttpOptions, ...movedOptions });
  const { clock = systemClock, platform } = options;
  const endpoint = createEndpoint(service, options, "toFetchHandler");
  const live = clock.requestBound === true ? createLiveRequests(clock) : undefined;

  const handle = async (request: Request, ...platformArguments: A): Promise<Response> => {
    const head = new FetchHead(request, platform && once(() => platform(request, ...platformArguments)));
    const admitted = endpoint.admit(head);
    if (!admitted.ok) return toResponse(admitted.answer);
    // Connections are not known here.
    const callers = endpoint.createCallers();
    const identified =
      endpoint.identify === undefined
        ? { ok: true as const, head }
        : await endpoint.identify(head, admitted.cors, callers.byAddress(head).share);
    if (!identified.ok) return toResponse(identified.answer);
    const reply = new FetchReply(request.signal, admitted.cors, endpoint, callers.of(identified.head));
    const body = request.method === "POST" ? await readText(request, endpoint.maxMessageBytes, reply.held) : emptyText;
    if (!("text" in body)) {
      endpoint.refusals?.answered(head, body.status);
      sendAnswer(reply, body);
      return reply.response();
    }
    if (live !== undefined)
      head.waitUntil = holding(
        live.add(reply.over, () => reply.lose()),
        platformArguments,
      );
    endpoint.handle(identified.head, body.text, reply);
    return reply.response();
  };

  return Object.assign(handle, { close: endpoint.close, status: endpoint.status });
}

/**
 * Extends the lifetime of a request while its work runs, so that the end of its client is noticed. Undefined without a
 * context of the request.
 */
function holding({ over, holdFor }: LiveRequest, platformArguments: readonly unknown[]): HttpRequestInfo["waitUntil"] {
  const context = platformArguments.find(isContext);
  context?.waitUntil(over);
  return context && ((work) => context.waitUntil(holdFor(work)));
}

function isContext(value: unknown): value is { waitUntil(work: Promise<unknown>): void } {
  return typeof value === "object" && value !== null && "waitUntil" in value && typeof value.waitUntil === "function";
}

class FetchHead implements HttpRequestInfo {
  readonly method: string;
  readonly url: string;
  waitUntil: HttpRequestInfo["waitUntil"] = undefined;
  readonly platform: HttpRequestInfo["platform"];
  readonly #headers: Headers;
  readonly #host: string;

  constructor(request: Request, platform: HttpRequestInfo["platform"]) {
    const { pathname, search, host } = new URL(request.url);
    this.method = request.method;
    this.url = pathname + search;
    this.#headers = request.headers;
    this.#host = host;
    this.platform = platform;
  }

  /** Platforms that parse the request themselves keep its host in the URL. */
  header(name: string): string | undefined {
    return this.#headers.get(name) ?? (name === "host" ? this.#host : undefined);
  }
}

/** The text of a body, or the answer that refuses it. */
type ReadText = { readonly text: string } | HttpAnswer;

const emptyText: ReadText = { text: "" };

/** Reads the body of a request of the Fetch standard, within a limit. */
async function readText(request: Request, maxBytes: number, held: RequestHold): Promise<ReadText> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  if (request.bodyUsed || request.body?.locked) return consumed;
  const reader = request.body?.getReader();
  if (reader === undefined) return { text: "" };
  let text = "";
  let size = 0;
  try {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      size += chunk.value.byteLength;
      if (size > maxBytes) {
        reader.cancel().catch(() => {});
        return refusal(413, `the body is too large; send at most ${maxBytes} bytes`);
      }
      const short = held.take(chunk.value.byteLength);
      if (short !== undefined) {
        reader.cancel().catch(() => {});
        return limitAnswer(short);
      }
      text += decoder.decode(chunk.value, { stream: true });
    }
    return { text: text + decoder.decode() };
  } catch {
    return refusal(400, "the body cannot be read as UTF-8");
  }
}

const consumed = consumedBody("toFetchHandler; read request.clone() instead, or hand on a new Request with the text");

/**
 * The requests of a platform that ends them without notice: when their client has left, or their time is up.
 *
 * Each request proves by a timer of its own that it is alive, which also shows the platform that it is waiting. Later
 * requests find those that have stopped.
 */
export interface LiveRequests {
  /**
   * A request that lasts until `over`, and longer if it is held. `lost` is called by a later request when it has ended
   * without notice.
   */
  add(over: Promise<void>, lost: () => void): LiveRequest;
}

export interface LiveRequest {
  readonly over: Promise<void>;
  /** It also lasts until `work` settles, which is when this resolves. */
  readonly holdFor: (work: Promise<unknown>) => Promise<void>;
}

const BEAT_MS = 1_000;
/** A request that was silent for so long may have ended; or another one kept all of them from running. */
const SILENT_MS = 5 * BEAT_MS;

export function createLiveRequests(clock: Clock): LiveRequests {
  const all = new LinkedSet<Life>();
  let looked = Number.NEGATIVE_INFINITY;

  const look = (): void => {
    const now = clock.now();
    if (now - looked < BEAT_MS) return;
    looked = now;
    for (const life of all.toArray()) {
      if (!life.isSilent(now)) continue;
      all.delete(life);
      life.lost();
    }
  };

  return {
    add(over, lost) {
      look();
      const life = new Life(clock, all, lost);
      const holdFor = (work: Promise<unknown>): Promise<void> => life.holdFor(work);
      return { over: holdFor(over), holdFor };
    },
  };
}

class Life implements Linked<Life> {
  previous: Life | undefined = undefined;
  next: Life | undefined = undefined;
  readonly lost: () => void;
  readonly #clock: Clock;
  readonly #all: LinkedSet<Life>;
  #holds = 0;
  #seen = 0;
  /** Since when it was found to be silent. */
  #suspected: number | undefined;
  #disarm = (): void => {};

  constructor(clock: Clock, all: LinkedSet<Life>, lost: () => void) {
    this.#clock = clock;
    this.#all = all;
    this.lost = lost;
    all.add(this);
    this.#beat();
  }

  /** What was found silent gets as much time again: after a long computation, none has had the chance to show itself. */
  isSilent(now: number): boolean {
    if (now - this.#seen < SILENT_MS) return false;
    this.#suspected ??= now;
    return now - this.#suspected >= SILENT_MS;
  }

  async holdFor(work: Promise<unknown>): Promise<void> {
    this.#holds++;
    await work.catch(() => {});
    if (--this.#holds > 0) return;
    this.#all.delete(this);
    this.#disarm();
  }

  #beat(): void {
    this.#seen = this.#clock.now();
    this.#suspected = undefined;
    this.#disarm = this.#clock.after(BEAT_MS, () => this.#all.has(this) && this.#beat());
  }
}
