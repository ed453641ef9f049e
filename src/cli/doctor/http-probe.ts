import * as http from "node:http";
import * as https from "node:https";
import { envProxy } from "../../transport/node/http-send.ts";

/** What a server answered to one request. */
export interface Probe {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  /** The beginning of the body: of a stream, what came at once. */
  readonly body: string;
}

export interface ProbeOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** True takes any certificate. Nothing secret is sent then. Default false. */
  readonly anyCertificate?: boolean;
}

const maxBody = 65_536;

/**
 * Sends one request, by the proxy that clients use, and reads the beginning of the answer. Rejects with the error of the system when there is none.
 */
export function probe(url: URL, options: ProbeOptions): Promise<Probe> {
  const { method = "POST", headers = {}, body, timeoutMs, signal, anyCertificate = false } = options;
  const { request, Agent } = url.protocol === "https:" ? https : http;
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const outgoing = request(url, {
      method,
      headers: { ...headers, ...length },
      agent: new Agent(envProxy),
      signal,
      ...(anyCertificate && { rejectUnauthorized: false }),
    });
    outgoing.setTimeout(timeoutMs, () => outgoing.destroy(timedOut(timeoutMs)));
    outgoing.on("error", reject);
    outgoing.on("response", (incoming) => {
      let text = "";
      const end = (): void => {
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: text.slice(0, maxBody) });
        outgoing.destroy();
      };
      const isStream = /^text\/event-stream/i.test(incoming.headers["content-type"] ?? "");
      incoming.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
        if (isStream || text.length > maxBody) end();
      });
      incoming.on("end", end).on("close", end).on("error", end);
    });
    outgoing.end(body);
  });
}

function timedOut(timeoutMs: number): Error {
  return Object.assign(new Error(`no answer within ${timeoutMs} ms`), { code: "ETIMEDOUT" });
}

/** The error code of the system, or the message. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "code" in error && typeof error.code === "string" ? error.code : error.message;
}
