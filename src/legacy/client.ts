export { createHttpChannel } from "./client/http-channel.ts";
export { initialize } from "./client/initialize.ts";
export { createSseChannel } from "./client/sse-channel.ts";
