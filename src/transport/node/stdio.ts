export type { ChannelBudgets, ConnectionBudget } from "../../protocol/budget.ts";
export type { Limits } from "../../protocol/limits.ts";
export type { ServeHandle } from "../serve-channel.ts";
export { type ServeStdioOptions, serveStdio } from "./serve-stdio.ts";
