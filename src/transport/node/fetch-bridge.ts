import type { IncomingMessage, ServerResponse } from "node:http";
import type { FetchRoute } from "../http/routes.ts";
import { discardBody } from "./read-body.ts";

/**
 * Answers a request of Node by a handler of the Fetch standard. Bodies stream both ways, no faster than they are read; the
 * signal of the request aborts when its client leaves. Resolves when the answer is written, or cannot be any more.
 */
export async function answerByFetch(
  route: FetchRoute,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  origin: string,
): Promise<void> {
  const body = hasBody(incoming) ? openBody(incoming) : undefined;
  const request = toRequest(incoming, outgoing, { origin, body: body?.stream });
  try {
    if (request === undefined) outgoing.writeHead(400).end();
    else await write(await route(request), outgoing);
  } finally {
    body?.discard();
  }
}

function hasBody({ method, headers }: IncomingMessage): boolean {
  if (method === "GET" || method === "HEAD") return false;
  return headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;
}

interface RequestParts {
  readonly origin: string;
  readonly body: ReadableStream<Uint8Array> | undefined;
}

/** Undefined for what the Fetch standard has no request for: TRACE, or a URL that is none. */
function toRequest(
  { rawHeaders, method = "GET", url = "/" }: IncomingMessage,
  outgoing: ServerResponse,
  { origin, body }: RequestParts,
): Request | undefined {
  const headers = new Headers();
  const abort = new AbortController();
  outgoing.once("close", () => {
    if (!outgoing.writableFinished) abort.abort(new Error("the client is gone"));
  });
  try {
    for (let at = 0; at < rawHeaders.length; at += 2)
      headers.append(String(rawHeaders[at]), String(rawHeaders[at + 1]));
    const streaming = body === undefined ? {} : { body, duplex: "half" as const };
    return new Request(`${origin}${url}`, { method, headers, signal: abort.signal, ...streaming });
  } catch {
    return undefined;
  }
}

/** The body of a request, as a stream that is read no faster than its reader wants. */
interface RequestBody {
  readonly stream: ReadableStream<Uint8Array>;
  /** Discards the rest of an unread body, so that the connection can be used again. */
  discard(): void;
}

function openBody(incoming: IncomingMessage): RequestBody {
  let isOpen = true;
  let take = (_: Uint8Array): void => {};
  const onData = (chunk: Uint8Array): void => take(chunk);

  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      take = (chunk) => {
        controller.enqueue(chunk);
        if ((controller.desiredSize ?? 0) <= 0) incoming.pause();
      };
      incoming.on("data", onData).pause();
      incoming.once("end", () => isOpen && controller.close());
      incoming.once("error", (error) => isOpen && controller.error(error));
    },
    pull: () => void incoming.resume(),
    cancel: () => discard(),
  });

  const discard = (): void => {
    if (!isOpen) return;
    isOpen = false;
    incoming.off("data", onData);
    if (incoming.readableEnded || incoming.destroyed) return;
    discardBody(incoming);
    incoming.resume();
  };
  return { stream, discard };
}

async function write(response: Response, outgoing: ServerResponse): Promise<void> {
  if (typeof response?.status !== "number") throw new TypeError("a route must return a Response");
  const { status, statusText, headers, body } = response;
  if (outgoing.destroyed) return void (await body?.cancel());
  // Several cookies come one by one.
  const fields = [...headers].flat();
  if (statusText === "") outgoing.writeHead(status, fields);
  else outgoing.writeHead(status, statusText, fields);
  if (outgoing.req.method === "HEAD" || body === null) {
    await body?.cancel();
    return void outgoing.end();
  }
  const reader = body.getReader();
  outgoing.once("close", () => void reader.cancel().catch(() => {}));
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    if (!outgoing.write(part.value)) await hasRoom(outgoing);
  }
  outgoing.end();
}

function hasRoom(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const release = (): void => {
      outgoing.off("drain", release);
      outgoing.off("close", release);
      resolve();
    };
    outgoing.on("drain", release);
    outgoing.on("close", release);
    if (outgoing.destroyed) release();
  });
}
