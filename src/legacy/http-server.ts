export { createSessionHandler } from "./http/session-handler.ts";
export { createSseHandler } from "./http/sse-handler.ts";
export { createStatelessHandler } from "./http/stateless-handler.ts";
