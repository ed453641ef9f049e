export { type FetchHandler, toFetchHandler } from "./fetch-handler.ts";
export type { HttpOptions, HttpWarning } from "./options.ts";
