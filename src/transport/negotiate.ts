import { isObject } from "../json/json.ts";
import type { Reply } from "../jsonrpc/outbound.ts";
import { modernClient } from "../protocol/codec/client-codec.ts";
import type { Ending, OpenConnection, Opening } from "../protocol/connection.ts";
import { type ErrorCode, type Failure, McpError, toError } from "../protocol/errors.ts";
import type { DiscoverResult } from "../protocol/methods.ts";
import {
  type Era,
  isLegacy,
  type LegacyRevision,
  newest,
  newestLegacy,
  type Revision,
  revisions,
} from "../protocol/revision.ts";
import type { Clock } from "../std/clock.ts";
import type { Initialized } from "./legacy-client.ts";
import { failureOf } from "./send-call.ts";

/** The steps by which a client finds out what a server speaks, over whatever carries them. */
export interface Negotiation {
  readonly opening: Opening;
  /** Asks the server what it is. Never rejects, and never cancelled on the wire. */
  discover(): Promise<Reply>;
  /** Speaks the newest revision. */
  connectModern(server: DiscoverResult): OpenConnection;
  /** Opens the handshake of an older revision. Rejects when the server refuses, or speaks what this client does not. */
  initialize(revision: LegacyRevision): Promise<Initialized>;
  /** Resolves when the connection is over. Never rejects. */
  readonly ended: Promise<Ending>;
  /** Idempotent, never rejects. */
  close(): Promise<void>;
}

export interface NegotiateOptions {
  /**
   * How long a server may stay silent on the first modern request before the
   * legacy handshake is tried too. Default 3 s, and at most half of the time that
   * is left for connecting. Infinity leaves the probe alone.
   */
  readonly probeMs?: number | undefined;
  /** The era this server spoke last time: saves the probe. */
  readonly era?: Era | undefined;
  /** True where requests are independent, so that one attempt does not affect the next. */
  readonly independent?: boolean | undefined;
  /** Whether an answer that is not modern shows that the server is legacy. Default: it always does. */
  readonly isLegacy?: ((reply: Reply) => boolean) | undefined;
}

/** Finds out what the server speaks and gets ready to speak it. */
export async function negotiate(steps: Negotiation, options: NegotiateOptions): Promise<OpenConnection> {
  const context: NegotiationContext = { steps, ...options };
  const { revision } = steps.opening;
  if (revision !== undefined) return isLegacy(revision) ? openSession(context, revision) : probe(context);
  if (options.era === "legacy") return openSession(context);
  return probeThenInitialize(context);
}

/** A negotiation under way. */
interface NegotiationContext extends NegotiateOptions {
  readonly steps: Negotiation;
}

async function openSession(
  { steps }: NegotiationContext,
  revision: LegacyRevision = newestLegacy,
): Promise<OpenConnection> {
  const initialized = await steps.initialize(revision);
  return initialized.connect();
}

async function probe(context: NegotiationContext): Promise<OpenConnection> {
  const probed = await discover(context.steps);
  if (probed.kind === "discovered") return settle(context, probed.server);
  throw toError(probed.failure);
}

/**
 * Asks the modern way first. An error that only modern servers send keeps the
 * connection modern; any other answer, or silence, leads to the handshake. A
 * slow modern server may still answer while the handshake is under way.
 */
async function probeThenInitialize(context: NegotiationContext): Promise<OpenConnection> {
  const { steps } = context;
  const discovered = discover(steps);
  const first = await orSilence(discovered, steps.opening.clock, silenceOf(context));
  if (first === "silence") return raceEras(context, discovered);
  if (first.kind !== "other") return settleProbe(context, first);
  if (isClosed(first.reply) || context.isLegacy?.(first.reply) === false) throw toError(first.failure);
  return openSession(context);
}

/**
 * Both were asked for. An `initialize` that is accepted makes the connection legacy, also where an answer to the probe is
 * late: many servers go by the last opening that came. Those that still know the probe afterwards are modern.
 */
async function raceEras(context: NegotiationContext, discovered: Promise<Probed>): Promise<OpenConnection> {
  const { steps } = context;
  const initialized = steps.initialize(newestLegacy);
  const accepted = initialized.catch(() => undefined);
  const late = await Promise.race([accepted.then((session) => (session ? undefined : discovered)), discovered]);
  if (late === undefined || late.kind === "other") return (await initialized).connect();
  if (context.independent === true) return settleProbe(context, late);
  const session = await orSilence(accepted, steps.opening.clock, thinkingMs);
  if (session === undefined || session === "silence") return settleProbe(context, late);
  const again = await discover(steps);
  const isModern = again.kind === "discovered" && again.server.supportedVersions.includes(newest);
  return isModern ? steps.connectModern(again.server) : session.connect();
}

/** Nothing more can be asked on a channel that is closed. */
function isClosed(reply: Reply): boolean {
  return reply.kind === "lost" && reply.reason === "closed";
}

/** A server that ignores the probe must have time to answer the handshake. */
function silenceOf({ steps, probeMs = thinkingMs }: NegotiationContext): number {
  const { timeoutMs } = steps.opening;
  return probeMs === Number.POSITIVE_INFINITY || timeoutMs === 0 ? probeMs : Math.min(probeMs, timeoutMs / 2);
}

/** How long a server may think before it is taken for one that does not know what was asked. */
const thinkingMs = 3_000;

function settleProbe(
  context: NegotiationContext,
  probed: Exclude<Probed, { kind: "other" }>,
): Promise<OpenConnection> | OpenConnection {
  return probed.kind === "discovered" ? settle(context, probed.server) : probeAgain(context, probed.failure);
}

/** The server is modern and rejected the request: tries again with a revision that it supports. */
function probeAgain(context: NegotiationContext, failure: Failure): Promise<OpenConnection> {
  const supported = isObject(failure.data) && Array.isArray(failure.data.supported) ? failure.data.supported : [];
  if (supported.includes(newest)) return probe(context);
  const older = newestLegacyOf(supported);
  if (older === undefined) throw toError(failure);
  return openSession(context, older);
}

/** The newest revision both sides know, or the one that was asked for. */
function settle(context: NegotiationContext, server: DiscoverResult): Promise<OpenConnection> | OpenConnection {
  const { steps } = context;
  const { supportedVersions } = server;
  const { revision } = steps.opening;
  if (supportedVersions.includes(newest)) return steps.connectModern(server);
  const older = revision === undefined ? newestLegacyOf(supportedVersions) : undefined;
  if (older === undefined) throw unsupported(supportedVersions, revision);
  return openSession(context, older);
}

async function orSilence<T>(answer: Promise<T>, clock: Clock, ms: number): Promise<T | "silence"> {
  if (ms === Number.POSITIVE_INFINITY) return answer;
  let stop = (): void => {};
  const silence = new Promise<"silence">((resolve) => {
    stop = clock.after(ms, () => resolve("silence"));
  });
  try {
    return await Promise.race([answer, silence]);
  } finally {
    stop();
  }
}

/** How a server took `server/discover`. */
type Probed =
  | { readonly kind: "discovered"; readonly server: DiscoverResult }
  /** By an error that no legacy server sends. */
  | { readonly kind: "refused"; readonly failure: Failure }
  /** By anything else, or not at all. */
  | { readonly kind: "other"; readonly failure: Failure; readonly reply: Reply };

/** Asks the server what it is. */
async function discover(steps: Negotiation): Promise<Probed> {
  const answered = steps.opening.trying?.("server/discover");
  const probed = readProbe(await steps.discover());
  answered?.(probed.kind === "discovered" ? probed.server.supportedVersions.join(", ") : probed.failure.message);
  return probed;
}

/** Some legacy servers answer everything that they do not know with an empty result: only what looks like a discovery is one. */
function readProbe(reply: Reply): Probed {
  if (reply.kind !== "success") {
    const failure = failureOf(reply, modernClient, "server/discover");
    const isModern = reply.kind === "failure" && modernCodes.has(failure.code);
    return isModern ? { kind: "refused", failure } : { kind: "other", failure, reply };
  }
  const outcome = modernClient.decodeResult("server/discover", reply.result);
  if (outcome.kind === "complete") return { kind: "discovered", server: outcome.result };
  const unlike: Failure = { code: "invalid-response", message: "server/discover has another kind of result" };
  return { kind: "other", failure: outcome.kind === "failed" ? outcome.failure : unlike, reply };
}

/** Errors that no legacy server sends. */
export const modernCodes: ReadonlySet<ErrorCode> = new Set([
  "unsupported-revision",
  "header-mismatch",
  "missing-capability",
]);

/** What was found out about servers, for the life of the process. Beyond a thousand, the oldest entry is forgotten. */
interface Remembered<V> {
  get(key: string): V | undefined;
  set(key: string, value: V): void;
  delete(key: string): void;
}

export function createRemembered<V>(): Remembered<V> {
  const values = new Map<string, V>();
  return {
    get: (key) => values.get(key),
    set(key, value) {
      values.set(key, value);
      if (values.size > maxEntries) for (const oldest of values.keys()) return void values.delete(oldest);
    },
    delete: (key) => void values.delete(key),
  };
}

const maxEntries = 1_000;

/** The error of a server that speaks nothing we may speak with it. */
export function unsupported(supported: readonly string[], wanted: Revision | undefined): McpError {
  const why = wanted === undefined ? "which this client does not" : `and ${wanted} was asked for`;
  const message = `the server speaks ${supported.join(", ") || "no revision"}, ${why}`;
  return new McpError("unsupported-revision", message, { data: { supported } });
}

/** The newest of these that opens with a handshake. */
export function newestLegacyOf(supported: readonly unknown[]): LegacyRevision | undefined {
  return revisions.filter(isLegacy).findLast((revision) => supported.includes(revision));
}
