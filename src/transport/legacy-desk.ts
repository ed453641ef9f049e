import type { Exchange } from "../jsonrpc/inbound.ts";
import { rpcCodes } from "../jsonrpc/message.ts";
import type { ServerSession, ServerSessionOptions } from "../legacy/server-session.ts";

type CreateSession = typeof import("../legacy/server-session.ts").createServerSession;

let createSession: CreateSession | undefined;

/** The session of a client that opens with `initialize`. What serves it is loaded when the first such client comes. */
export function createLegacyDesk(options: ServerSessionOptions): ServerSession {
  let session: ServerSession | undefined;

  const open = (create: CreateSession): ServerSession => {
    session ??= create(options);
    return session;
  };

  const openAndRequest = async (exchange: Exchange): Promise<void> => {
    try {
      ({ createServerSession: createSession } = await import("../legacy/server-session.ts"));
    } catch (error) {
      console.error("plugbay: older revisions cannot be served:", error);
      return void exchange.fail({ code: rpcCodes.internal, message: "internal error" });
    }
    await open(createSession).request(exchange);
  };

  return {
    request: (exchange) =>
      createSession === undefined ? openAndRequest(exchange) : open(createSession).request(exchange),
    notification: (notification) => session?.notification(notification),
    acceptsBatches: () => session?.acceptsBatches() ?? false,
    get greeted() {
      return session?.greeted ?? false;
    },
    get revision() {
      return session?.revision;
    },
    close: () => session?.close(),
  };
}
