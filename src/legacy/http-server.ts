export { createSessionHandler } from "./http/session-handler.ts";
export { createSseDoor as createSseHandler } from "./http/sse-handler.ts";
export { createStatelessDoor as createStatelessHandler } from "./http/stateless-handler.ts";
