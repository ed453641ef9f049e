import { McpError } from "./errors.ts";
import { checkOptionNames, type OptionNames } from "./option-names.ts";

/** Limits of one connection, one principal or the process. 0 and `Infinity` disable a limit. */
export interface Budget {
  /** Bytes of request bodies, of responses that are not read yet, of events for replay, and of results. */
  readonly maxHeldBytes?: number | undefined;
  /** Handlers that run. More calls wait. */
  readonly maxRunningCalls?: number | undefined;
  /** Calls that wait for their turn. */
  readonly maxQueuedCalls?: number | undefined;
  /** Requests that are not answered. */
  readonly maxOpenRequests?: number | undefined;
  readonly maxSessions?: number | undefined;
  /** Streams that only wait for notifications. */
  readonly maxStreams?: number | undefined;
  /** Resources, tasks and lists that are subscribed to. */
  readonly maxSubscriptions?: number | undefined;
  /** Handlers that wait for an answer to their question. */
  readonly maxParkedCalls?: number | undefined;
  /** Tasks that run or whose result is retained. */
  readonly maxTasks?: number | undefined;
  /** Connections of clients. */
  readonly maxConnections?: number | undefined;
  /** Requests whose sender is being found out. */
  readonly maxSignIns?: number | undefined;
}

/** The scope of a budget. */
export type BudgetScope = "connection" | "principal" | "process";

/** A budget of some scopes, for whatever is counted there. */
export type ScopeBudgets = { readonly [S in BudgetScope]?: Budget | undefined };

/** What one connection may hold at a time. 0 and `Infinity` switch a limit off. */
export type ConnectionBudget = Pick<
  Budget,
  "maxHeldBytes" | "maxRunningCalls" | "maxQueuedCalls" | "maxOpenRequests" | "maxStreams" | "maxSubscriptions"
>;

/** What one principal, or the process, may hold at a time over HTTP. 0 and `Infinity` switch a limit off. */
export type EndpointBudget = Omit<Budget, "maxParkedCalls" | "maxTasks">;

/**
 * What an endpoint may hold: for each connection, for each principal, and in all. Handlers that wait for an answer and
 * tasks are counted by the server: `budgets` of `createServer`.
 */
export interface Budgets {
  readonly connection?: ConnectionBudget | undefined;
  readonly principal?: EndpointBudget | undefined;
  readonly process?: EndpointBudget | undefined;
}

/** What the one client of a channel may hold. It is the connection, the principal and the process at once. */
export type ChannelBudgets = { readonly [S in BudgetScope]?: ConnectionBudget | undefined };

/** What is counted. */
export type Held = keyof Budget extends `max${infer Name}` ? Uncapitalize<Name> : never;

/** Those that connections have come first: what is counted for a connection ends there. */
export const limitOf: { readonly [H in Held]: keyof Budget } = {
  heldBytes: "maxHeldBytes",
  runningCalls: "maxRunningCalls",
  queuedCalls: "maxQueuedCalls",
  openRequests: "maxOpenRequests",
  streams: "maxStreams",
  subscriptions: "maxSubscriptions",
  sessions: "maxSessions",
  parkedCalls: "maxParkedCalls",
  tasks: "maxTasks",
  connections: "maxConnections",
  signIns: "maxSignIns",
};

/** The limits, in the order in which they are given by {@link limitsOf}. */
export const limitNames: readonly (keyof Budget)[] = Object.values(limitOf);

export const heldKinds = Object.keys(limitOf) as readonly Held[];

const budgetsNames: OptionNames<ScopeBudgets> = { connection: true, principal: true, process: true };

/** The limits of one scope: a number for every kind, `Infinity` for a disabled limit. */
export function limitsOf(
  scope: BudgetScope,
  defaults: ScopeBudgets,
  given: ScopeBudgets | undefined,
  where: string,
): readonly number[] {
  if (given !== undefined) checkOptionNames(`budgets of ${where}`, given, budgetsNames);
  const own = given?.[scope];
  // What is counted elsewhere, such as tasks of the server or sessions of a principal, would be ignored here.
  const { connection = {}, principal, process } = defaults;
  const known = scope === "connection" ? connection : { ...connection, ...principal, ...process };
  if (own !== undefined) checkOptionNames(`budgets.${scope} of ${where}`, own, known);
  return heldKinds.map((kind) => {
    const name = limitOf[kind];
    const limit = own?.[name] ?? defaults[scope]?.[name] ?? 0;
    if (typeof limit !== "number" || !(limit >= 0)) {
      throw new McpError("invalid-definition", `budgets.${scope}.${name} of ${where} must be 0 or more; 0 is off`);
    }
    return limit === 0 ? Number.POSITIVE_INFINITY : limit;
  });
}
