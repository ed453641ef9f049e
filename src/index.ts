export type { Json, JsonObject } from "./json/json.ts";
export type { Ending } from "./protocol/connection.ts";
export type * from "./protocol/content.ts";
export type * from "./protocol/content.ts";
export { type ErrorCode, type Failure, McpError, toolError } from "./protocol/errors.ts";
export type * from "./protocol/input.ts";
export type { LogLevel } from "./protocol/logging.ts";
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
} from "./protocol/methods.ts";
export type { NotificationParams } from "./protocol/notification.ts";
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
} from "./protocol/peer.ts";
export type * from "./protocol/prompt.ts";
export { type Revision, revisions } from "./protocol/revision.ts";
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
} from "./protocol/service.ts";
export type { Change, ListenFilter } from "./protocol/subscription.ts";
export type { DetailedTask, Task, TaskStatus, TaskTerms } from "./protocol/task.ts";
export type {
  CallEnding,
  CallObservation,
  ObservedCall,
  ObservedPlace,
  ObservedSession,
  ObservedSide,
  SessionEnd,
  Telemetry,
} from "./protocol/telemetry.ts";
export type * from "./protocol/tool.ts";
export type * from "./protocol/tool.ts";
export type { Clock } from "./std/clock.ts";
export type { HttpRequestInfo } from "./std/http-request-info.ts";
export { type ParsedUriTemplate, parseUriTemplate, type UriTemplate } from "./std/uri-template.ts";
export type { MatchedVariables } from "./std/uri-template-match.ts";
