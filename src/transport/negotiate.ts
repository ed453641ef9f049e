import type { Codec } from "../codec/codec.ts";
import { codecFor } from "../codec/select.ts";
import { failureOf, sendCall } from "../codec/send.ts";
import { isObject, type JsonObject } from "../json/json.ts";
import type { Exchange } from "../jsonrpc/inbound.ts";
import { rpcCodes } from "../jsonrpc/message.ts";
import type { Reply } from "../jsonrpc/outbound.ts";
import type { PeerHandlers, RpcPeer } from "../jsonrpc/peer.ts";
import { createClientSession } from "../legacy/client-session.ts";
import type { Connection, Opening } from "../model/connection.ts";
import { type Failure, McpError, toError } from "../model/errors.ts";
import type { DiscoverResult } from "../model/methods.ts";
import type { Peer } from "../model/peer.ts";
import { type Era, eraOf, isRevision, newest, newestLegacy, type Revision } from "../model/revision.ts";
import { type Call, createCall, type Outcome, type Service } from "../model/service.ts";
import { LazyAbort } from "../std/lazy-abort.ts";

export interface NegotiateOptions {
  /** How long a server may stay silent on the first modern request before the legacy handshake is tried too. Default 3 s. */
  readonly probeMs?: number;
  /** The era this server spoke last time: saves the probe. */
  readonly era?: Era | undefined;
}

export type Handling = Pick<PeerHandlers, "request" | "notification">;

/** A peer whose handlers are set once it is known who is on the other end. */
export interface Line {
  readonly rpc: RpcPeer;
  use(handling: Handling): void;
}

/** A connection but for how it ends. */
export type Link = Omit<Connection, "ended" | "close">;

/** Finds out what the server speaks and gets ready to speak it. */
export async function negotiate(
  line: Line,
  opening: Opening,
  { probeMs = 3_000, era }: NegotiateOptions,
): Promise<Link> {
  const { revision } = opening;
  if (revision !== undefined)
    return eraOf(revision) === "legacy" ? greet(line, opening, revision) : probe(line, opening);
  if (era === "legacy") return greet(line, opening, newestLegacy);
  return probeThenGreet(line, opening, probeMs);
}

/**
 * Asks the modern way first. An error that only modern servers send keeps the
 * connection modern; any other error, or silence, leads to the handshake. A
 * slow modern server may still answer while the handshake is under way.
 */
async function probeThenGreet(line: Line, opening: Opening, probeMs: number): Promise<Link> {
  const discovered = discover(line, opening);
  const first = await orSilence(discovered, opening, probeMs);
  if (first === "silence") return raceEras(line, opening, discovered);
  return judge(line, opening, first);
}

/** What the answer to the probe means. */
function judge(line: Line, opening: Opening, reply: Reply): Promise<Link> | Link {
  const codec = codecFor(newest);
  if (reply.kind === "lost") throw toError(failureOf(reply, codec, "server/discover"));
  if (reply.kind === "success") return settleModern(line, opening, reply.result);
  const failure = codec.decodeFailure(reply.error);
  if (!isModernFailure(failure)) return greet(line, opening, newestLegacy);
  return retryModern(line, opening, failure);
}

type Race = { readonly link: Link } | { readonly error: unknown } | { readonly found: JsonObject };

/** The first era that works wins; that one of them fails says nothing about the other. */
async function raceEras(line: Line, opening: Opening, discovered: Promise<Reply>): Promise<Link> {
  const greeted = greet(line, opening, newestLegacy).then<Race, Race>(
    (link) => ({ link }),
    (error: unknown) => ({ error }),
  );
  const late = discovered.then((reply): Race | Promise<Race> =>
    reply.kind === "success" ? { found: reply.result } : greeted,
  );
  const first = await Promise.race([greeted, late]);
  const winner = "error" in first ? await late : first;
  if ("found" in winner) return settleModern(line, opening, winner.found);
  if ("link" in winner) return winner.link;
  throw winner.error;
}

const modernFailures: ReadonlySet<string> = new Set(["unsupported-revision", "header-mismatch", "missing-capability"]);

function isModernFailure({ code }: Failure): boolean {
  return modernFailures.has(code);
}

/** The server is modern and did not like the request: once more, with what it supports. */
async function retryModern(line: Line, opening: Opening, failure: Failure): Promise<Link> {
  const supported = isObject(failure.data) && Array.isArray(failure.data.supported) ? failure.data.supported : [];
  const legacy = supported.find((version) => isRevision(version) && eraOf(version) === "legacy");
  if (!supported.includes(newest) && isRevision(legacy)) return greet(line, opening, legacy);
  if (!supported.includes(newest)) throw toError(failure);
  return probe(line, opening);
}

async function probe(line: Line, opening: Opening): Promise<Link> {
  const reply = await discover(line, opening);
  if (reply.kind === "success") return settleModern(line, opening, reply.result);
  throw toError(failureOf(reply, codecFor(newest), "server/discover"));
}

function discover({ rpc }: Line, opening: Opening): Promise<Reply> {
  const call = createCall({
    method: "server/discover",
    params: {},
    peer: modernPeer(opening),
    abort: new LazyAbort(),
    notify: () => undefined,
  });
  const limits = { idleMs: opening.timeoutMs, totalMs: 0 };
  return rpc.request("server/discover", () => codecFor(newest).encodeCall(call), { limits, cancellable: false });
}

function modernPeer({ info, capabilities }: Opening): Peer {
  return { revision: newest, info, capabilities };
}

function settleModern(line: Line, opening: Opening, result: JsonObject): Promise<Link> | Link {
  const codec = codecFor(newest);
  const outcome = codec.decodeResult("server/discover", result);
  if (outcome.kind === "failed") throw toError(outcome.failure);
  if (outcome.kind !== "complete") throw new McpError("invalid-response", "server/discover asked for input");
  const server = outcome.result;
  if (server.supportedVersions.includes(newest)) return modernLink(line, opening, server);
  const legacy = server.supportedVersions.find(isRevision);
  if (legacy === undefined) throw unsupported(server.supportedVersions);
  return greet(line, opening, legacy);
}

function modernLink({ rpc, use }: Line, opening: Opening, server: DiscoverResult): Link {
  const codec = codecFor(newest);
  use({ request: refuse, notification: ({ method, params }) => opening.notified(method, params) });
  const service = (call: Call): Promise<Outcome> => sendCall(rpc, codec, call);
  return { service: service as Service, revision: newest, server, peer: modernPeer(opening) };
}

/** The legacy handshake. Never cancelled on the wire. */
async function greet(line: Line, opening: Opening, asked: Revision): Promise<Link> {
  const { rpc, use } = line;
  const limits = { idleMs: opening.timeoutMs, totalMs: 0 };
  const hello = codecFor(asked).encodeHello(opening);
  const reply = await rpc.request("initialize", () => hello, { limits, cancellable: false });
  if (reply.kind !== "success") throw toError(failureOf(reply, codecFor(asked), "initialize"));
  const codec = agreed(reply.result.protocolVersion, opening);
  const welcome = codec.decodeWelcome(reply.result);
  if (!welcome.ok) throw toError(welcome.failure);
  const { request, notification, ...session } = createClientSession({ rpc, codec, server: welcome.value, opening });
  use({ request, notification });
  rpc.notify("notifications/initialized", {});
  return { ...session, revision: codec.revision, server: welcome.value };
}

function agreed(version: unknown, { revision }: Opening): Codec {
  const usable = isRevision(version) && eraOf(version) === "legacy" && (revision ?? version) === version;
  if (!usable) throw unsupported([String(version)]);
  return codecFor(version);
}

function unsupported(supported: readonly string[]): McpError {
  const message = `the server speaks ${supported.join(", ")}, which this client does not`;
  return new McpError("unsupported-revision", message, { data: { supported } });
}

async function orSilence<T>(answer: Promise<T>, { clock }: Opening, ms: number): Promise<T | "silence"> {
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

/** A modern server asks by its outcomes; a request of its own is against the protocol. */
export function refuse(exchange: Exchange): undefined {
  const { method } = exchange.request;
  if (method === "ping") exchange.succeed({});
  else exchange.fail({ code: rpcCodes.methodNotFound, message: `unknown method ${method}` });
  return undefined;
}
