/// <reference path="../index.ts" preserve="true" />
export type * from "../host/index.ts";
export { type ServerFromModuleOptions, serverFromModule } from "../modules/server-from-module.ts";
export type { OpenApiAuth, OpenApiCredential, OpenApiSecurityScheme } from "../openapi/credentials.ts";
export { openApi } from "../openapi/node/open-api.ts";
export type { OpenApiOptions } from "../openapi/open-api.ts";
export { McpError } from "../protocol/errors.ts";
export type { ServiceViews } from "../protocol/service.ts";
export type * from "../server/index.ts";
export type { Account, UserAccounts } from "./accounts/user-accounts.ts";
export type {
  AccountEvent,
  BrowserIdentity,
  ClientCredentials,
  ExchangeCredentials,
  KeyCredentials,
  ServerCredentials,
  UserCredentials,
  Vault,
} from "./accounts/vault-options.ts";
export type {
  ApprovalAnswer,
  ApprovalChange,
  GatewayApprovals,
  PendingApproval,
} from "./approval.ts";
export type { GroupsOf } from "./caller.ts";
export type { UpstreamSessions } from "./caller-connections.ts";
export type { BreakerOptions } from "./circuit-breaker.ts";
export type { Decision, ExplainedRule, ExplainRequest } from "./explain.ts";
export type { GatewayView, ViewFilter } from "./gateway-view.ts";
export type { GatewayNode } from "./nodes/gateway-nodes.ts";
export { type Gateway, type GatewayOptions, openGateway } from "./open-gateway.ts";
export type {
  ArgumentCondition,
  GatewayRule,
  GatewayRuleAction,
  RedactOptions,
  RuleRate,
  RuleRef,
} from "./rule.ts";
export type { GatewayServerStatus, GatewayStatus } from "./status.ts";
export type { ViewSearch } from "./tool-search.ts";
