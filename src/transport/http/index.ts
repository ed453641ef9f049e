export { type FetchHandler, type FetchHandlerOptions, toFetchHandler } from "./fetch-handler.ts";
export type { HttpOptions, HttpWarning } from "./options.ts";
