import { McpError } from "../../../protocol/errors.ts";
import type { LazyAbort } from "../../../std/lazy-abort.ts";
import type { HttpSend, IncomingResponse } from "../http-message.ts";
import { openUrl, tooLarge } from "./http-errors.ts";

/** Sends requests by `fetch`. Each has an abort signal of its own, for a shared one collects listeners. */
export function fetchSend(fetch: typeof globalThis.fetch): HttpSend {
  return async ({ method, url, headers, body }, abort) => {
    const { signal } = abort;
    const response = await fetch(url, {
      method,
      headers,
      redirect: "manual",
      signal,
      ...(body !== undefined && { body }),
    });
    // A browser does not tell where a redirect leads, so it cannot be judged.
    if (response.type === "opaqueredirect") {
      throw new McpError(
        "http-error",
        "the server redirects, which cannot be followed here; connect to the URL that it redirects to",
        { data: { status: 302, url: openUrl(url) } },
      );
    }
    return new FetchResponse(response, abort);
  };
}

class FetchResponse implements IncomingResponse {
  readonly status: number;
  readonly #response: Response;
  readonly #abort: LazyAbort;

  constructor(response: Response, abort: LazyAbort) {
    this.status = response.status;
    this.#response = response;
    this.#abort = abort;
  }

  header(name: string): string | undefined {
    return this.#response.headers.get(name) ?? undefined;
  }

  async text(maxBytes: number): Promise<string> {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    let text = "";
    let size = 0;
    await this.read((chunk) => {
      size += chunk.length;
      if (size > maxBytes) throw tooLarge("the response", maxBytes);
      text += decode(decoder, chunk);
      return undefined;
    });
    return text + decode(decoder);
  }

  async read(take: (chunk: Uint8Array) => Promise<void> | undefined): Promise<void> {
    const reader = this.#response.body?.getReader();
    if (reader === undefined) return;
    try {
      for (let next = await reader.read(); !next.done; next = await reader.read()) {
        const busy = take(next.value);
        if (busy !== undefined) await busy;
      }
    } catch (error) {
      reader.cancel().catch(() => {});
      throw this.#abort.aborted ? new McpError("cancelled", "the request was given up") : error;
    }
  }

  discard(): void {
    const { body } = this.#response;
    if (body !== null && !body.locked) body.cancel().catch(() => {});
    else if (body !== null) this.#abort.abort("discarded");
  }
}

function decode(decoder: TextDecoder, chunk?: Uint8Array): string {
  try {
    return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
  } catch (cause) {
    throw new McpError("invalid-response", "the response is not valid UTF-8", { cause });
  }
}
