import type { CallGuard } from "../host/call-guard.ts";
import type { HostTool } from "../host/host-tool.ts";
import { rateLimit } from "../middleware/rate-limit.ts";
import type { OptionNames } from "../protocol/option-names.ts";
import type { ServerEvent } from "../protocol/server-event.ts";
import type { Call, CallOf, Outcome } from "../protocol/service.ts";
import type { Telemetry } from "../protocol/telemetry.ts";
import { createQuestionRuns } from "../server/question-runs.ts";
import type { Clock } from "../std/clock.ts";
import type { Store } from "../store/store.ts";
import type { GatewayApprovals } from "./approval.ts";
import { createApprovalQueue } from "./approval-queue.ts";
import { createApprovedCalls } from "./approved-calls.ts";
import { createCallAudit } from "./call-audit.ts";
import type { GroupsOf } from "./caller.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import { type Decision, type ExplainRequest, explain } from "./explain.ts";
import { createRedaction } from "./redact.ts";
import type { GatewayRule } from "./rule.ts";
import { createRulebook } from "./rulebook.ts";
import { createRulesGuard, type Refused } from "./rules-guard.ts";

/** Who may do what at a gateway. */
export interface GatewayRulesOptions {
  /** Who may do what. A rule that denies wins, wherever it stands; then the first that allows or approves. Default: everything. */
  readonly rules?: readonly GatewayRule[] | undefined;
  /** True denies what no rule allows. Default false. */
  readonly denyByDefault?: boolean | undefined;
  /** True refuses nothing: `onEvent` hears what the rules would have done. Default false. */
  readonly dryRun?: boolean | undefined;
  /** Finds the groups of a caller in the claims of its token. Default: the claim `groups`, where it is a list. */
  readonly groupsOf?: GroupsOf | undefined;
  /** How long an approval is asked for, and how long one that was given can be used. Default 10 min. */
  readonly approvalTtlMs?: number | undefined;
  /** How long a call waits for an approval before its caller is told to come back. Default 45 s. */
  readonly approvalWaitMs?: number | undefined;
  /** How many calls of one caller may wait for approval. Default 16. */
  readonly maxApprovalsPerCaller?: number | undefined;
  /** How many calls may wait for approval, up to 1,000. Default 1,000. */
  readonly maxApprovals?: number | undefined;
  /** Hears of every call that has ended, and of every refusal. Default: nobody. */
  readonly onEvent?: ((event: ServerEvent) => void) | undefined;
}

export const gatewayRulesOptionNames: OptionNames<GatewayRulesOptions> = {
  rules: true,
  denyByDefault: true,
  dryRun: true,
  groupsOf: true,
  approvalTtlMs: true,
  approvalWaitMs: true,
  maxApprovalsPerCaller: true,
  maxApprovals: true,
  onEvent: true,
};

/** Where the rules of a gateway keep what they count and wait for. */
export interface GatewayRulesParts {
  readonly store: () => Promise<Store>;
  readonly isShared: boolean;
  readonly audience: string;
  readonly stateKeys: readonly string[];
  readonly clock: Clock;
}

/** The rules of a gateway at work. */
export interface GatewayRules {
  /** Undefined where there is nothing to judge and nobody to tell. */
  readonly guard: CallGuard | undefined;
  /** What tells `onEvent`. */
  readonly telemetry: readonly Telemetry[];
  readonly approvals: GatewayApprovals;
  explain(request: ExplainRequest, tool: HostTool | undefined): Decision;
  close(): Promise<void>;
}

/** Throws `invalid-definition` for a rule that is not understood. */
export function createGatewayRules(options: GatewayRulesOptions, parts: GatewayRulesParts): GatewayRules {
  const { rules = [], denyByDefault = false, dryRun = false, groupsOf, onEvent } = options;
  const { approvalTtlMs: ttlMs = 600_000, approvalWaitMs: waitMs = 45_000 } = options;
  const { maxApprovalsPerCaller: principal = 16, maxApprovals: process = 1_000 } = options;
  const { store, clock, stateKeys } = parts;
  const book = createRulebook(rules, denyByDefault);
  const now = clock.date ?? Date.now;
  const audit = onEvent && createCallAudit(onEvent, now);
  const queue = createApprovalQueue({ store, clock, ttlMs, waitMs, max: { principal, process } });
  const runs = createQuestionRuns({ ...parts, audience: `${parts.audience} approvals`, askTimeoutMs: ttlMs });
  const guard = (): CallGuard =>
    createRulesGuard({
      book,
      dryRun,
      groupsOf,
      audit,
      approved: createApprovedCalls({ queue, runs, store, stateKeys, now }),
      redactions: mapRules(book.rules, "redact", ({ rule, index }) => createRedaction(rule, index)),
      rates: mapRules(book.rules, "rate", (rule) => createRate(rule, parts)),
    });
  return {
    guard: rules.length > 0 || denyByDefault || audit !== undefined ? guard() : undefined,
    telemetry: audit === undefined ? [] : [audit.telemetry],
    approvals: { list: queue.list, answer: queue.answer, changes: queue.changes },
    explain: (request, tool) => explain(book, request, tool),
    close: queue.close,
  };
}

function mapRules<T>(
  rules: readonly CompiledRule[],
  action: "redact" | "rate",
  make: (rule: CompiledRule) => T,
): ReadonlyMap<CompiledRule, T> {
  return new Map(rules.filter(({ rule }) => rule.action === action).map((rule) => [rule, make(rule)]));
}

/** Counts calls for a rule: the refusal of one that is one too many. */
function createRate({ name, rule }: CompiledRule, { store, clock }: GatewayRulesParts) {
  const { limit = 1, windowMs = 1, by = "caller" } = rule.rate ?? {};
  const shared = by === "all" ? { by: () => "all" } : {};
  const passed: Outcome = { kind: "complete", result: {} };
  const limited = rateLimit({ limit, windowMs, name, clock, store: store(), ...shared })((async () => passed) as never);
  return async (call: CallOf): Promise<Refused | undefined> => {
    const outcome = await limited(call as Call);
    return outcome === passed ? undefined : (outcome as Refused);
  };
}
