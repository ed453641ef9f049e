import type { Connection, Ending, Opening } from "../protocol/connection.ts";
import { McpError } from "../protocol/errors.ts";
import { metaOf } from "../protocol/meta.ts";
import type { NotificationParams } from "../protocol/notification.ts";
import type { Auth, ClientInfo } from "../protocol/peer.ts";
import { eraOf, newest } from "../protocol/revision.ts";
import { createCall, inPlaceOf, type Service, withCall } from "../protocol/service.ts";
import { LazyAbort, orAborted } from "../std/lazy-abort.ts";
import { describeService } from "../transport/describe-service.ts";
import { createMemoryChannels } from "../transport/memory-channels.ts";
import { openChannel } from "../transport/open-channel.ts";
import { serveChannel } from "../transport/serve-channel.ts";

/**
 * Connects to a service in this process.
 *
 * Calls are passed by reference, without a transport. Where an older revision is requested, both ends use that revision
 * over a channel in memory. With `identity`, the service sees that caller.
 */
export async function openInProcess(service: Service, opening: Opening, identity?: Auth): Promise<Connection> {
  const { revision = newest, info, capabilities } = opening;
  const peer: ClientInfo = { revision, info, capabilities, ...(identity && { auth: identity }) };
  const isLegacy = eraOf(revision) === "legacy";
  const described = describeService(service, isLegacy ? undefined : { peer });
  // A service does not see the signal while it describes itself, so the wait for it ends here.
  const server = await orAborted(described, opening.signal, cancelled);
  if (isLegacy) return openInMemory(service, opening, identity);
  let end = (_ending: Ending): void => {};
  const ended = new Promise<Ending>((resolve) => {
    end = resolve;
  });
  return {
    service,
    revision,
    server,
    peer,
    ended,
    tell: (method, params) => void notifyService(service, { method, params }, peer, opening),
    async close() {
      end(undefined);
    },
  };
}

/** Sends a notification to a service. Its outcome is ignored. */
async function notifyService(
  service: Service,
  params: NotificationParams,
  peer: ClientInfo,
  opening: Opening,
): Promise<void> {
  const abort = new LazyAbort();
  const call = createCall({
    method: "notification",
    params,
    peer,
    meta: metaOf(params.params),
    abort,
    notify: (method, said) => void opening.notified(method, said),
    ask: (question) => opening.answer(question, abort.signal),
  });
  await service(call).catch(() => {});
}

/** Connects to a service in this process over the wire of a revision. */
export function openInMemory(service: Service, opening: Opening, identity?: Auth): Promise<Connection> {
  const [clientEnd, serverEnd] = createMemoryChannels();
  serveChannel(serverEnd, identity === undefined ? service : calledBy(service, identity), { clock: opening.clock });
  return openChannel(clientEnd, opening);
}

/** The same service, with an authenticated caller on every call. */
function calledBy(service: Service, auth: Auth): Service {
  return inPlaceOf(service, (call) => service(withCall(call, { peer: { ...call.peer, auth } })));
}

function cancelled(cause: unknown): McpError {
  return new McpError("cancelled", "connecting was cancelled", { cause });
}
