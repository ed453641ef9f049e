import type { LegacyClientCodec } from "../codec/codec.ts";
import { legacyClient } from "../codec/legacy-client.ts";
import { closedFailure, correlate, failureOf } from "../codec/send.ts";
import { createClientSession } from "../legacy/client-session.ts";
import type { Opening } from "../model/connection.ts";
import { toError } from "../model/errors.ts";
import type { DiscoverResult } from "../model/methods.ts";
import { isLegacy, isRevision, type LegacyRevision } from "../model/revision.ts";
import type { Line, Link } from "./link.ts";
import { unsupported } from "./unsupported.ts";

/** A legacy server that has said hello. */
export interface Welcome {
  readonly codec: LegacyClientCodec;
  readonly server: DiscoverResult;
}

/** Opens the handshake. Never cancelled on the wire. Rejects when the server refuses or speaks what we do not. */
export async function greet({ rpc, opening }: Line, asked: LegacyRevision): Promise<Welcome> {
  const limits = { idleMs: opening.timeoutMs, totalMs: 0 };
  const hello = legacyClient(asked).encodeHello(opening);
  const reply = await rpc.request("initialize", () => hello, { limits, cancellable: false });
  if (reply.kind !== "success") throw toError(failureOf(reply, legacyClient(asked), "initialize"));
  const codec = agreed(reply.result.protocolVersion, opening);
  const welcome = codec.decodeWelcome(reply.result);
  if (!welcome.ok) throw toError(welcome.failure);
  return { codec, server: welcome.value };
}

/** What a channel does about sessions, where it does more than carry them. */
export interface SessionHooks {
  /** Resolves when what the server says by itself can arrive. */
  readonly listening?: Promise<void>;
  /** Is given what tells the server again what it knew of this client. */
  onSession?(restore: () => Promise<void>): void;
}

/** Completes the handshake. */
export function linkLegacy(
  { rpc, opening, ended, use }: Line,
  { codec, server }: Welcome,
  hooks: SessionHooks = {},
): Link {
  const session = createClientSession({ rpc, codec, server, opening, listening: hooks.listening });
  hooks.onSession?.(session.restore);
  use({
    request: session.request,
    notification: session.notification,
    correlate,
    acceptsBatches: () => codec.revision === "2025-03-26",
  });
  void ended.then((ending) => session.close(ending ?? closedFailure(undefined)));
  rpc.notify("notifications/initialized", {});
  return { ...session.connection, revision: codec.revision, server };
}

function agreed(version: unknown, { revision }: Opening): LegacyClientCodec {
  const usable = isRevision(version) && isLegacy(version) && (revision ?? version) === version;
  if (!usable) throw unsupported([String(version)], revision);
  return legacyClient(version);
}
