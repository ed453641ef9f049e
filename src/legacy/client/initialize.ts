import { isObject } from "../../json/json.ts";
import type { IncomingRequest } from "../../jsonrpc/inbound.ts";
import { rpcCodes } from "../../jsonrpc/message.ts";
import type { OpenConnection, Opening } from "../../protocol/connection.ts";
import { type Failure, toError } from "../../protocol/errors.ts";
import type { DiscoverResult } from "../../protocol/methods.ts";
import { isLegacy, isRevision, type LegacyRevision } from "../../protocol/revision.ts";
import type { ChannelClient, Initialized, SessionHooks } from "../../transport/legacy-client.ts";
import { newestLegacyOf, unsupported } from "../../transport/negotiate.ts";
import { closedFailure, failureOf, findRequestId } from "../../transport/send-call.ts";
import { legacyClient } from "../codec/client-codec.ts";
import type { LegacyClientCodec } from "../codec/codec.ts";
import { createClientSession } from "./client-session.ts";

/** How a server answered `initialize`. */
interface Agreed {
  readonly codec: LegacyClientCodec;
  readonly server: DiscoverResult;
}

/** Opens the handshake. */
export async function initialize(
  client: ChannelClient,
  revision: LegacyRevision,
  hooks: SessionHooks = {},
): Promise<Initialized> {
  const agreed = await agree(client, revision);
  return { connect: () => connect(client, agreed, hooks) };
}

/**
 * Sends `initialize`. Never cancelled on the wire. A server that refuses the revision and names older ones is asked for the
 * newest of these. Rejects when the server refuses or speaks what we do not.
 */
async function agree(client: ChannelClient, asked: LegacyRevision): Promise<Agreed> {
  const { rpc, opening, use } = client;
  use({
    onRequest: refuseEarly,
    onNotification: ({ method, params }) => opening.notified(method, params),
    findRequestId: findRequestId,
    acceptsBatches: () => false,
  });
  const limits = { idleMs: opening.timeoutMs, totalMs: 0 };
  const params = legacyClient(asked).encodeInitializeRequest(opening);
  const answered = opening.trying?.(`initialize ${asked}`);
  const reply = await rpc.request("initialize", () => params, { limits, cancellable: false });
  if (reply.kind !== "success") {
    const failure = failureOf(reply, legacyClient(asked), "initialize");
    answered?.(failure.message);
    const older = opening.revision === undefined ? olderIn(failure, asked) : undefined;
    if (older !== undefined) return agree(client, older);
    throw toError(failure);
  }
  answered?.(String(reply.result.protocolVersion));
  const codec = codecOf(reply.result.protocolVersion, opening);
  const decoded = codec.decodeInitializeResult(reply.result);
  if (!decoded.ok) throw toError(decoded.failure);
  return { codec, server: decoded.value };
}

/** What a server that refused a revision offers instead. */
function olderIn({ data }: Failure, asked: LegacyRevision): LegacyRevision | undefined {
  const supported = isObject(data) && Array.isArray(data.supported) ? data.supported : [];
  const older = newestLegacyOf(supported);
  return older !== undefined && older < asked ? older : undefined;
}

/** Before anything is agreed, a server may only find out whether we are there. */
function refuseEarly(incoming: IncomingRequest): undefined {
  const { method } = incoming.request;
  if (method === "ping") incoming.succeed({});
  else incoming.fail({ code: rpcCodes.methodNotFound, message: `unknown method ${method}` });
}

/** Completes the handshake. */
function connect(
  { rpc, opening, ended, use }: ChannelClient,
  { codec, server }: Agreed,
  hooks: SessionHooks,
): OpenConnection {
  const session = createClientSession({ rpc, codec, server, opening, listening: hooks.listening });
  hooks.onSession?.(session.restore);
  use({
    onRequest: session.request,
    onNotification: session.notification,
    findRequestId: session.findRequestId,
    acceptsBatches: () => codec.revision === "2025-03-26",
  });
  void ended.then((ending) => session.close(ending ?? closedFailure(undefined)));
  rpc.notify("notifications/initialized", {});
  return { ...session.connection, revision: codec.revision, server };
}

function codecOf(stated: unknown, { revision }: Opening): LegacyClientCodec {
  const version = stated === draft ? "2024-11-05" : stated;
  const usable = isRevision(version) && isLegacy(version) && (revision ?? version) === version;
  if (!usable) throw unsupported([String(version)], revision);
  return legacyClient(version);
}

/** What the first servers said before 2024-11-05 was final. */
const draft = "2024-10-07";
