export { type ToolLoopOptions, toolLoop } from "./bridge/tool-loop.ts";
export type { Json, JsonObject } from "./json/json.ts";
export type { JsonLimits } from "./json/parse.ts";
export type * from "./model/content.ts";
export { type ErrorCode, type Failure, fail, McpError } from "./model/errors.ts";
export type * from "./model/input.ts";
export type { LogLevel } from "./model/logging.ts";
export {
  type Method,
  type MethodRow,
  type Methods,
  type Params,
  type Result,
  registerMethod,
} from "./model/methods.ts";
export type { Auth, AuthClaims, ClientCapabilities, Implementation, Peer, ServerCapabilities } from "./model/peer.ts";
export type * from "./model/prompt.ts";
export type * from "./model/resource.ts";
export { type Revision, revisions } from "./model/revision.ts";
export { type Call, compose, type Middleware, type Outcome, type Service, withCall } from "./model/service.ts";
export type { Change } from "./model/subscription.ts";
export type * from "./model/tool.ts";
export type { Clock } from "./std/clock.ts";
export { parseUriTemplate, type UriTemplate } from "./std/uri-template.ts";
