export { type FetchHandler, toFetchHandler } from "../http/fetch-handler.ts";
export type { HttpOptions, HttpWarning } from "../http/options.ts";
export { type NodeHandler, nodeHandler } from "./node-handler.ts";
export { type HttpServing, type ServeHttpOptions, serveHttp } from "./serve-http.ts";
