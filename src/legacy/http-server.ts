import type { LegacyHandler, SessionHandlerOptions } from "../transport/http/legacy-handlers.ts";
import { createSessions } from "./http/sessions.ts";
import { createSharedSessions } from "./http/shared-sessions.ts";

export { createSseDoor as createSseHandler } from "./http/sse-handler.ts";
export { createStatelessDoor as createStatelessHandler } from "./http/stateless-handler.ts";

/** Serves clients that open with `initialize`. */
export function createSessionHandler({ store, ...options }: SessionHandlerOptions): LegacyHandler {
  return store === undefined ? createSessions(options) : createSharedSessions({ ...options, store });
}
