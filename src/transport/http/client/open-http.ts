import type { Reply } from "../../../jsonrpc/outbound.ts";
import type { Authorizer } from "../../../protocol/authorizer.ts";
import type { Connection, Ending, Opening } from "../../../protocol/connection.ts";
import { type ErrorCode, McpError, toError } from "../../../protocol/errors.ts";
import { clientLimits, type MessageLimits } from "../../../protocol/limits.ts";
import { eraOf } from "../../../protocol/revision.ts";
import { type HttpChannel, type LegacyClient, legacyClient, type SessionHooks } from "../../legacy-client.ts";
import { createRemembered, modernCodes, type Negotiation } from "../../negotiate.ts";
import { createChannelClient, openBy, openChannel } from "../../open-channel.ts";
import { closedFailure } from "../../send-call.ts";
import type { HttpSend } from "../http-message.ts";
import { createEndpoint, type Endpoint, type HeaderSource } from "./http-endpoint.ts";
import { createHttpService } from "./http-service.ts";
import type { HttpWarn } from "./tool-headers.ts";

/** How to speak with a server behind a URL. */
export interface HttpClientOptions {
  readonly send: HttpSend;
  readonly headers?: HeaderSource | undefined;
  readonly auth?: Authorizer | undefined;
  /** Sends credentials also by `http:` to another machine. Default false. */
  readonly allowInsecureHttp?: boolean | undefined;
  readonly limits?: MessageLimits | undefined;
  /** Which of the two transports over HTTP to use: `streamable`, or `sse` of 2024-11-05. Default: whichever works. */
  readonly transport?: HttpTransport | undefined;
  /** How long a server may stay silent on `server/discover` before `initialize` is tried too. Default 3 s. */
  readonly probeMs?: number | undefined;
  readonly warn?: HttpWarn | undefined;
  /** Between 0 and 1. */
  readonly random?: (() => number) | undefined;
}

export type HttpTransport = "streamable" | "sse";

/** What a server turned out to speak. */
type Verdict = "modern" | "legacy" | "sse";

/** What servers spoke when this process last connected to them. */
const verdicts = createRemembered<Verdict>();

/** Connects to a server behind a URL: finds out what it speaks, and remembers it. */
export async function openHttp(url: URL, opening: Opening, options: HttpClientOptions): Promise<Connection> {
  const key = `${url.origin}${url.pathname}`;
  const isOpen = opening.revision === undefined && options.transport !== "sse";
  const known = isOpen ? (verdicts.get(key) ?? opening.era) : undefined;
  const { send, headers, auth, allowInsecureHttp } = options;
  const endpoint = createEndpoint({ url, send, headers, auth, allowInsecureHttp });
  try {
    const { connection, verdict, isSure } = await openAs({ endpoint, opening, options, known });
    // What was pinned says nothing of what the server would rather speak.
    if (isSure && opening.revision === undefined && options.transport === undefined) verdicts.set(key, verdict);
    const { credentials } = endpoint;
    return { ...connection, takesHeaders: true, ...(credentials && { credentials }) };
  } catch (error) {
    verdicts.delete(key);
    if (known === undefined || known === "modern" || opening.signal?.aborted || isAboutAuth(error)) throw error;
    return openHttp(url, { ...opening, era: "modern" }, options);
  }
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
  /** False when the server may have failed only now to say what it is. */
  readonly isSure: boolean;
}

async function openAs(attempt: Attempt): Promise<Opened> {
  const { options, known } = attempt;
  const { transport = known === "sse" ? "sse" : undefined } = options;
  if (transport === "sse") return openSse(attempt);
  const steps = createHttpNegotiation(attempt);
  try {
    return await openStreamable(steps, attempt);
  } catch (error) {
    if (transport === "streamable" || !suggestsSse(steps.initializeStatus, error)) throw error;
    return openSse(attempt).catch((second: unknown) => {
      throw isCancelled(second) ? second : error;
    });
  }
}

async function openStreamable(steps: HttpNegotiation, { options, known }: Attempt): Promise<Opened> {
  const opened = await openBy(steps, {
    probeMs: options.probeMs,
    independent: true,
    era: known === "legacy" ? "legacy" : undefined,
    isLegacy: (reply) => decidesEra(reply, steps.discoverStatus),
  });
  const verdict = eraOf(opened.revision);
  const connection = verdict === "legacy" ? { ...opened, hasSession: steps.hasSession } : opened;
  return { connection, verdict, isSure: !crashes.has(steps.discoverStatus) };
}

/** Asks a server behind a URL by calls of their own, and by a session where it wants one. */
interface HttpNegotiation extends Negotiation {
  /** The status that the request was last answered with. */
  readonly discoverStatus: number | undefined;
  readonly initializeStatus: number | undefined;
  /** True once the server has opened a session. */
  readonly hasSession: boolean;
}

function createHttpNegotiation({ endpoint, opening, options }: Attempt): HttpNegotiation {
  const { clock, timeoutMs } = opening;
  const { warn = () => {}, limits = clientLimits, random } = options;
  const service = createHttpService({ endpoint, opening, limits, warn });
  let session: HttpSessionClient | undefined;
  let closing: Promise<void> | undefined;
  let end = (_ending: Ending): void => {};
  const ended = new Promise<Ending>((resolve) => {
    end = resolve;
  });

  const openSession = ({ createHttpChannel }: LegacyClient): HttpSessionClient => {
    const channel = createHttpChannel({ endpoint, clock, timeoutMs, warn, limits, random });
    return { channel, ...createChannelClient(channel, opening, service.nextId) };
  };

  const close = async (): Promise<void> => {
    service.close();
    const closed = session?.close();
    end(undefined);
    await closed;
  };

  return {
    opening,
    ended,
    discover: service.discover,
    connectModern: service.connect,
    async initialize(revision) {
      const legacy = await legacyClient.load();
      if (closing !== undefined) throw toError(closedFailure(undefined));
      session ??= openSession(legacy);
      const { channel, client } = session;
      return legacy.initialize(client, revision, sessionHooks(channel, warn));
    },
    close() {
      closing ??= close();
      return closing;
    },
    get discoverStatus() {
      return service.lastStatus;
    },
    get initializeStatus() {
      return session?.channel.lastStatus;
    },
    get hasSession() {
      return session?.channel.hasSession === true;
    },
  };
}

/** A session of an older revision, from `initialize` on. */
interface HttpSessionClient extends ReturnType<typeof createChannelClient> {
  readonly channel: HttpChannel;
}

function sessionHooks(channel: HttpChannel, warn: HttpWarn): SessionHooks {
  return {
    listening: channel.listening,
    onSession: (restore) =>
      channel.onRenewal(() => {
        restore().catch((cause: unknown) => {
          const message = "after a new session was opened, the server did not take what it knew before";
          warn({ kind: "not-honoured", message, cause });
        });
      }),
  };
}

async function openSse({ endpoint, opening, options }: Attempt): Promise<Opened> {
  const { clock, timeoutMs } = opening;
  const { warn = () => {}, limits = clientLimits } = options;
  const { createSseChannel } = await legacyClient.load();
  const channel = createSseChannel({ endpoint, clock, timeoutMs, warn, limits });
  const trying = (what: string) => opening.trying?.(`${what} over HTTP+SSE`) ?? (() => {});
  const connection = await openChannel(channel, { ...opening, trying }, { era: "legacy" });
  return { connection, verdict: "sse", isSure: true };
}

/** Statuses that do not depend on the era: authorization and availability. */
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

/** A server that fails on what it does not know says nothing of the kind, and may still know the older opening. */
const crashes: ReadonlySet<number | undefined> = new Set([500, 501]);

function decidesEra(reply: Reply, status: number | undefined): boolean {
  if (status === undefined || (reply.kind === "lost" && reply.reason !== "undelivered")) return false;
  const cause = reply.kind === "lost" ? reply.cause : undefined;
  if (cause instanceof McpError && undecidedCodes.has(cause.code)) return false;
  if (crashes.has(status)) return true;
  return status >= 200 && status < 500 && !isRedirect(status) && !undecided.has(status);
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400;
}

/** How servers refuse a POST where they take none. */
const refusals: ReadonlySet<number> = new Set([400, 404, 405, 406, 415, 422, 501]);

/** Whether the server may be one that answers on a stream of its own, as in 2024-11-05. */
function suggestsSse(status: number | undefined, error: unknown): boolean {
  if (status === undefined || !refusals.has(status)) return false;
  if (!(error instanceof McpError) || modernCodes.has(error.code)) return false;
  return error.code === "http-error" || !(status === 404 && error.code === "method-not-found");
}

function isCancelled(error: unknown): boolean {
  return error instanceof McpError && error.code === "cancelled";
}
