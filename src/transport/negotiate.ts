import { modernClient } from "../codec/modern-client.ts";
import { failureOf } from "../codec/send.ts";
import { isObject, type JsonObject } from "../json/json.ts";
import type { Reply } from "../jsonrpc/outbound.ts";
import { type ErrorCode, type Failure, toError } from "../model/errors.ts";
import { type Era, isLegacy, type LegacyRevision, newest, newestLegacy } from "../model/revision.ts";
import type { Clock } from "../std/clock.ts";
import { greet, linkLegacy } from "./legacy-link.ts";
import type { Line, Link } from "./link.ts";
import { discover, linkModern, readDiscovery } from "./modern-link.ts";
import { newestLegacyOf, unsupported } from "./unsupported.ts";

export interface NegotiateOptions {
  /** How long a server may stay silent on the first modern request before the legacy handshake is tried too. Default 3 s. */
  readonly probeMs?: number;
  /** The era this server spoke last time: saves the probe. */
  readonly era?: Era | undefined;
}

/** Finds out what the server speaks and gets ready to speak it. */
export async function negotiate(line: Line, { probeMs = 3_000, era }: NegotiateOptions): Promise<Link> {
  const { revision } = line.opening;
  if (revision !== undefined) return isLegacy(revision) ? shakeHands(line, revision) : probe(line);
  if (era === "legacy") return shakeHands(line, newestLegacy);
  return probeThenGreet(line, probeMs);
}

async function shakeHands(line: Line, revision: LegacyRevision): Promise<Link> {
  return linkLegacy(line, await greet(line, revision));
}

async function probe(line: Line): Promise<Link> {
  const reply = await discover(line);
  if (reply.kind === "success") return settle(line, reply.result);
  throw toError(probeFailure(reply));
}

/**
 * Asks the modern way first. An error that only modern servers send keeps the
 * connection modern; any other error, or silence, leads to the handshake. A
 * slow modern server may still answer while the handshake is under way.
 */
async function probeThenGreet(line: Line, probeMs: number): Promise<Link> {
  const discovered = discover(line);
  const first = await orSilence(discovered, line.opening.clock, probeMs);
  if (first === "silence") return raceEras(line, discovered);
  return isModern(first) ? settleProbe(line, first) : shakeHands(line, newestLegacy);
}

/** The first era that works wins; that one of them fails says nothing about the other. */
async function raceEras(line: Line, discovered: Promise<Reply>): Promise<Link> {
  const legacy = greet(line, newestLegacy).then((welcome) => () => linkLegacy(line, welcome));
  const modern = discovered.then((reply) => {
    if (isModern(reply)) return () => settleProbe(line, reply);
    throw toError(probeFailure(reply));
  });
  const link = await Promise.any([legacy, modern]).catch(() => legacy);
  return link();
}

type Probed = Exclude<Reply, { kind: "lost" }>;

/** An answer that no legacy server would give. */
function isModern(reply: Reply): reply is Probed {
  if (reply.kind === "lost") return false;
  return reply.kind === "success" || modernCodes.has(probeFailure(reply).code);
}

const modernCodes: ReadonlySet<ErrorCode> = new Set(["unsupported-revision", "header-mismatch", "missing-capability"]);

function probeFailure(reply: Exclude<Reply, { kind: "success" }>): Failure {
  return failureOf(reply, modernClient, "server/discover");
}

function settleProbe(line: Line, reply: Probed): Promise<Link> | Link {
  return reply.kind === "success" ? settle(line, reply.result) : probeAgain(line, probeFailure(reply));
}

/** The server is modern and did not like the request: once more, with what it supports. */
function probeAgain(line: Line, failure: Failure): Promise<Link> {
  const supported = isObject(failure.data) && Array.isArray(failure.data.supported) ? failure.data.supported : [];
  if (supported.includes(newest)) return probe(line);
  const older = newestLegacyOf(supported);
  if (older === undefined) throw toError(failure);
  return shakeHands(line, older);
}

/** The newest revision both sides know, or the one that was asked for. */
function settle(line: Line, result: JsonObject): Promise<Link> | Link {
  const server = readDiscovery(result);
  const { supportedVersions } = server;
  const { revision } = line.opening;
  if (supportedVersions.includes(newest)) return linkModern(line, server);
  const older = revision === undefined ? newestLegacyOf(supportedVersions) : undefined;
  if (older === undefined) throw unsupported(supportedVersions, revision);
  return shakeHands(line, older);
}

async function orSilence<T>(answer: Promise<T>, clock: Clock, ms: number): Promise<T | "silence"> {
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
