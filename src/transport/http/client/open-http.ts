import type { JsonLimits } from "../../../json/parse.ts";
import type { Reply } from "../../../jsonrpc/outbound.ts";
import type { Authorizer } from "../../../model/authorizer.ts";
import type { Connection, Opening } from "../../../model/connection.ts";
import { type ErrorCode, McpError } from "../../../model/errors.ts";
import { eraOf } from "../../../model/revision.ts";
import { modernCodes } from "../../negotiate.ts";
import { openChannel } from "../../open-channel.ts";
import type { HttpSend } from "../http-send.ts";
import { createEndpoint, type Endpoint } from "./endpoint.ts";
import { type HttpChannel, httpChannel, type LastAnswer } from "./http-channel.ts";
import type { HttpWarn } from "./known-tools.ts";
import { sseChannel } from "./sse-channel.ts";
import type { HeaderSource } from "./user-headers.ts";

/** How to speak with a server behind a URL. */
export interface HttpClientOptions {
  readonly send: HttpSend;
  readonly headers?: HeaderSource | undefined;
  readonly auth?: Authorizer | undefined;
  /** Bytes of one body, or of one event. Default 16 MiB; 0 is off. */
  readonly maxBodyBytes?: number | undefined;
  readonly jsonLimits?: JsonLimits | undefined;
  /** Which of the two transports over HTTP to use: `streamable`, or `sse` of 2024-11-05. Default: whichever works. */
  readonly transport?: HttpTransport | undefined;
  readonly warn?: HttpWarn | undefined;
  /** Between 0 and 1. */
  readonly random?: (() => number) | undefined;
}

export type HttpTransport = "streamable" | "sse";

/** What a server turned out to speak. */
type Verdict = "modern" | "legacy" | "sse";

/** What servers spoke when this process last connected to them. */
const verdicts = new Map<string, Verdict>();
const maxVerdicts = 1_000;

/** Connects to a server behind a URL: finds out what it speaks, and remembers it. */
export async function openHttp(url: URL, opening: Opening, options: HttpClientOptions): Promise<Connection> {
  const key = `${url.origin}${url.pathname}`;
  const isOpen = opening.revision === undefined && options.transport !== "sse";
  const known = isOpen ? (verdicts.get(key) ?? opening.era) : undefined;
  const { send, headers, auth } = options;
  const endpoint = createEndpoint({ url, send, headers, auth });
  try {
    const { connection, verdict } = await openBy({ endpoint, opening, options, known });
    // What was pinned says nothing of what the server would rather speak.
    if (opening.revision === undefined && options.transport === undefined) remember(key, verdict);
    return connection;
  } catch (error) {
    verdicts.delete(key);
    if (known === undefined || known === "modern" || opening.signal?.aborted || isAboutAuth(error)) throw error;
    return openHttp(url, { ...opening, era: "modern" }, options);
  }
}

function remember(key: string, verdict: Verdict): void {
  verdicts.set(key, verdict);
  if (verdicts.size > maxVerdicts) for (const oldest of verdicts.keys()) return void verdicts.delete(oldest);
}

interface Attempt {
  readonly endpoint: Endpoint;
  readonly opening: Opening;
  readonly options: HttpClientOptions;
  readonly known: Verdict | undefined;
}

interface Opened {
  readonly connection: Connection;
  readonly verdict: Verdict;
}

async function openBy(attempt: Attempt): Promise<Opened> {
  const { options, known } = attempt;
  const { transport = known === "sse" ? "sse" : undefined } = options;
  if (transport === "sse") return openSse(attempt);
  const channel = channelOf(attempt);
  try {
    return await openStreamable(channel, attempt);
  } catch (error) {
    if (transport === "streamable" || !suggestsSse(channel.last, error)) throw error;
    return openSse(attempt).catch((second: unknown) => {
      throw bothFailed(error, second);
    });
  }
}

function channelOf({ endpoint, opening, options }: Attempt): HttpChannel {
  const { clock, timeoutMs } = opening;
  const { warn = () => {}, maxBodyBytes, jsonLimits, random } = options;
  return httpChannel({ endpoint, clock, timeoutMs, warn, maxBodyBytes, jsonLimits, random });
}

async function openStreamable(channel: HttpChannel, { opening, options, known }: Attempt): Promise<Opened> {
  const { warn = () => {} } = options;
  const connection = await openChannel(channel, opening, {
    probeMs: Number.POSITIVE_INFINITY,
    era: known === "legacy" ? "legacy" : undefined,
    isLegacy: (reply) => decidesEra(reply, channel.last),
    listening: channel.listening,
    onSession: (restore) =>
      channel.onRenewal(() => {
        restore().catch((cause: unknown) => {
          const message = "after a new session was opened, the server did not take what it knew before";
          warn({ kind: "not-honoured", message, cause });
        });
      }),
  });
  return { connection, verdict: eraOf(connection.revision) };
}

async function openSse({ endpoint, opening, options }: Attempt): Promise<Opened> {
  const { clock, timeoutMs } = opening;
  const { warn = () => {}, maxBodyBytes, jsonLimits } = options;
  const channel = sseChannel({ endpoint, clock, timeoutMs, warn, maxBodyBytes, jsonLimits });
  const connection = await openChannel(channel, opening, { era: "legacy", hello: "2024-11-05" });
  return { connection, verdict: "sse" };
}

/** What says nothing of the era: who may come in, and whether somebody is at home. */
const undecided: ReadonlySet<number> = new Set([401, 403, 408, 429]);
const undecidedCodes: ReadonlySet<ErrorCode> = new Set([
  "connection-closed",
  "limit-reached",
  "internal",
  "cancelled",
  "timeout",
  "unauthorized",
  "forbidden",
]);

/** Another attempt would only ask the user again. */
function isAboutAuth(error: unknown): boolean {
  return error instanceof McpError && (error.code === "unauthorized" || error.code === "forbidden");
}

function decidesEra(reply: Reply, last: LastAnswer | undefined): boolean {
  if (last === undefined || (reply.kind === "lost" && reply.reason !== "undelivered")) return false;
  const cause = reply.kind === "lost" ? reply.cause : undefined;
  if (cause instanceof McpError && undecidedCodes.has(cause.code)) return false;
  return last.status >= 200 && last.status < 500 && !isRedirect(last.status) && !undecided.has(last.status);
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400;
}

/** Whether the server may be one that answers on a stream of its own, as in 2024-11-05. */
function suggestsSse(last: LastAnswer | undefined, error: unknown): boolean {
  if (last?.method !== "initialize" || ![400, 404, 405].includes(last.status)) return false;
  if (!(error instanceof McpError) || modernCodes.has(error.code)) return false;
  return error.code === "http-error" || !(last.status === 404 && error.code === "method-not-found");
}

function bothFailed(error: unknown, second: unknown): unknown {
  if (!(error instanceof McpError) || !(second instanceof McpError) || second.code === "cancelled") return second;
  const { code, message, data } = error;
  const text = `${message}; and over HTTP+SSE, the older transport: ${second.message}`;
  return new McpError(code, text, { cause: error, ...(data !== undefined && { data }) });
}
