export type {
  BudgetScope,
  Budgets,
  ConnectionBudget,
  EndpointBudget,
  Held,
  LedgerStatus,
} from "../../protocol/budget.ts";
export type { AllLimits, Limits } from "../../protocol/limits.ts";
export type { EndpointStatus } from "../http/endpoint-status.ts";
export { type FetchHandler, type FetchHandlerOptions, toFetchHandler } from "../http/fetch-handler.ts";
export type { HealthOptions } from "../http/health.ts";
export type { HttpOptions, HttpWarning } from "../http/options.ts";
export type { Routes } from "../http/routes.ts";
export { type NodeHandler, type NodeHandlerOptions, toNodeHandler } from "./node-handler.ts";
export { type HttpServeHandle, type ServeHttpOptions, serveHttp, type TlsOptions } from "./serve-http.ts";
