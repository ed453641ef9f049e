export type { BudgetScope, Budgets, ConnectionBudget, EndpointBudget } from "../../protocol/budget.ts";
export type { Limits } from "../../protocol/limits.ts";
export { type FetchHandler, type FetchHandlerOptions, toFetchHandler } from "./fetch-handler.ts";
export type { HttpOptions, HttpWarning } from "./options.ts";
