export { type FetchHandler, toFetchHandler } from "../http/fetch-handler.ts";
export type { HttpOptions, HttpWarning } from "../http/options.ts";
export { type NodeHandler, toNodeHandler } from "./node-handler.ts";
export { type HttpServeHandle, type ServeHttpOptions, serveHttp } from "./serve-http.ts";
