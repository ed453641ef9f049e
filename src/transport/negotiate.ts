import { modernClient } from "../codec/modern-client.ts";
import { failureOf } from "../codec/send.ts";
import { isObject, type JsonObject } from "../json/json.ts";
import type { Reply } from "../jsonrpc/outbound.ts";
import { type ErrorCode, type Failure, toError } from "../model/errors.ts";
import { type Era, isLegacy, type LegacyRevision, newest, newestLegacy } from "../model/revision.ts";
import type { Clock } from "../std/clock.ts";
import { greet, linkLegacy, type SessionHooks } from "./legacy-link.ts";
import type { Line, Link } from "./link.ts";
import { discover, linkModern, readDiscovery } from "./modern-link.ts";
import { newestLegacyOf, unsupported } from "./unsupported.ts";

export interface NegotiateOptions extends SessionHooks {
  /**
   * How long a server may stay silent on the first modern request before the
   * legacy handshake is tried too. Default 3 s. Infinity where every request has
   * an answer of its own.
   */
  readonly probeMs?: number;
  /** The era this server spoke last time: saves the probe. */
  readonly era?: Era | undefined;
  /** The revision to ask for in a handshake, when nothing tells a better one. Default: the newest. */
  readonly hello?: LegacyRevision;
  /** Whether an answer that is not modern shows that the server is legacy. Default: it always does. */
  isLegacy?(reply: Reply): boolean;
}

/** Finds out what the server speaks and gets ready to speak it. */
export async function negotiate(line: Line, options: NegotiateOptions): Promise<Link> {
  const talk: Talk = { line, hello: newestLegacy, ...options };
  const { revision } = line.opening;
  if (revision !== undefined) return isLegacy(revision) ? shakeHands(talk, revision) : probe(talk);
  if (options.era === "legacy") return shakeHands(talk, talk.hello);
  return probeThenGreet(talk);
}

/** A negotiation under way. */
interface Talk extends NegotiateOptions {
  readonly line: Line;
  readonly hello: LegacyRevision;
}

async function shakeHands(talk: Talk, revision: LegacyRevision): Promise<Link> {
  return linkLegacy(talk.line, await greet(talk.line, revision), talk);
}

async function probe(talk: Talk): Promise<Link> {
  const reply = await discover(talk.line);
  if (reply.kind === "success") return settle(talk, reply.result);
  throw toError(probeFailure(reply));
}

/**
 * Asks the modern way first. An error that only modern servers send keeps the
 * connection modern; any other error, or silence, leads to the handshake. A
 * slow modern server may still answer while the handshake is under way.
 */
async function probeThenGreet(talk: Talk): Promise<Link> {
  const { line, hello, probeMs = thinkingMs } = talk;
  const discovered = discover(line);
  const first = await orSilence(discovered, line.opening.clock, probeMs);
  if (first === "silence") return raceEras(talk, discovered);
  if (isModern(first)) return settleProbe(talk, first);
  if (talk.isLegacy?.(first) === false) throw toError(probeFailure(first));
  return shakeHands(talk, hello);
}

/**
 * Both were asked for. A greeting that is accepted makes the connection legacy, also where an answer to the probe is
 * late: many servers go by the last opening that came. Those that still know the probe afterwards are modern.
 */
async function raceEras(talk: Talk, discovered: Promise<Reply>): Promise<Link> {
  const { line, hello } = talk;
  const greeted = greet(line, hello);
  const welcomed = greeted.catch(() => undefined);
  const late = await Promise.race([welcomed.then((welcome) => (welcome ? undefined : discovered)), discovered]);
  if (late === undefined || !isModern(late)) return linkLegacy(line, await greeted, talk);
  const welcome = await orSilence(welcomed, line.opening.clock, thinkingMs);
  if (welcome === undefined || welcome === "silence") return settleProbe(talk, late);
  const again = await discover(line);
  const server = again.kind === "success" ? readDiscovery(again.result) : undefined;
  return server?.supportedVersions.includes(newest) ? linkModern(line, server) : linkLegacy(line, welcome, talk);
}

/** How long a server may think before it is taken for one that does not know what was asked. */
const thinkingMs = 3_000;

type Probed = Exclude<Reply, { kind: "lost" }>;

/** An answer that no legacy server would give. */
function isModern(reply: Reply): reply is Probed {
  if (reply.kind === "lost") return false;
  return reply.kind === "success" || modernCodes.has(probeFailure(reply).code);
}

/** Errors that no legacy server sends. */
export const modernCodes: ReadonlySet<ErrorCode> = new Set([
  "unsupported-revision",
  "header-mismatch",
  "missing-capability",
]);

function probeFailure(reply: Exclude<Reply, { kind: "success" }>): Failure {
  return failureOf(reply, modernClient, "server/discover");
}

function settleProbe(talk: Talk, reply: Probed): Promise<Link> | Link {
  return reply.kind === "success" ? settle(talk, reply.result) : probeAgain(talk, probeFailure(reply));
}

/** The server is modern and did not like the request: once more, with what it supports. */
function probeAgain(talk: Talk, failure: Failure): Promise<Link> {
  const supported = isObject(failure.data) && Array.isArray(failure.data.supported) ? failure.data.supported : [];
  if (supported.includes(newest)) return probe(talk);
  const older = newestLegacyOf(supported);
  if (older === undefined) throw toError(failure);
  return shakeHands(talk, older);
}

/** The newest revision both sides know, or the one that was asked for. */
function settle(talk: Talk, result: JsonObject): Promise<Link> | Link {
  const { line } = talk;
  const server = readDiscovery(result);
  const { supportedVersions } = server;
  const { revision } = line.opening;
  if (supportedVersions.includes(newest)) return linkModern(line, server);
  const older = revision === undefined ? newestLegacyOf(supportedVersions) : undefined;
  if (older === undefined) throw unsupported(supportedVersions, revision);
  return shakeHands(talk, older);
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
