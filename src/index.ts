export type { Json, JsonObject } from "./json/json.ts";
export type { Ending } from "./model/connection.ts";
export type * from "./model/content.ts";
export type * from "./model/content.ts";
export { type ErrorCode, type Failure, McpError, toolError } from "./model/errors.ts";
export type * from "./model/input.ts";
export type { LogLevel } from "./model/logging.ts";
export type {
  Cacheable,
  DiscoverResult,
  Method,
  Methods,
  Page,
  PageParams,
  Params,
  Result,
  TaskParams,
} from "./model/methods.ts";
export type { NotificationParams } from "./model/notification.ts";
export type {
  Auth,
  AuthClaims,
  ClientCapabilities,
  ClientInfo,
  Extensions,
  Identity,
  Implementation,
  KnownClaims,
  ServerCapabilities,
} from "./model/peer.ts";
export type * from "./model/prompt.ts";
export { type Revision, revisions } from "./model/revision.ts";
export {
  type Ask,
  type Call,
  type CallOf,
  type CloseStream,
  type Middleware,
  type Notify,
  type Outcome,
  type OutcomeOf,
  type Service,
  withCall,
  withMiddleware,
} from "./model/service.ts";
export type { Change, ListenFilter } from "./model/subscription.ts";
export type { DetailedTask, Task, TaskStatus, TaskTerms } from "./model/task.ts";
export type * from "./model/tool.ts";
export type * from "./model/tool.ts";
export type { Clock } from "./std/clock.ts";
export type { HttpRequestInfo } from "./std/http-facts.ts";
export { type ParsedUriTemplate, parseUriTemplate, type UriTemplate } from "./std/uri-template.ts";
export type { MatchedVariables } from "./std/uri-template-match.ts";
