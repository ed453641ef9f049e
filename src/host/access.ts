import type { JsonObject } from "../json/json.ts";
import { lockVerdict } from "../lock/diff-lock.ts";
import type { Lock } from "../lock/lock.ts";
import { McpError } from "../protocol/errors.ts";
import type { ToolAnnotations } from "../protocol/tool.ts";
import { toMatcher } from "../std/glob.ts";
import { type HostTool, originalOf } from "./host-tool.ts";
import type { ServerSpec } from "./spec.ts";

interface AccessOptions {
  readonly policy?: Policy | undefined;
  readonly onApprove?: ((request: ApprovalRequest) => boolean | Promise<boolean>) | undefined;
  /** What was approved, where somebody has a say in it. */
  lock(): Lock | undefined;
}

/** What is said of the tools of one server. */
type ServerRules = Pick<ServerSpec, "tools" | "approved">;

/** Decides which tools there are, and who is asked before they are called. */
export interface Access {
  /** True when there is nothing to judge a tool by but its server's own rules. */
  readonly isOpen: boolean;
  judge(tool: HostTool, rules: ServerRules): Promise<Decision>;
  /** Asks for consent. Throws `denied` when there is nobody to ask, `declined` when the answer is no. */
  approve(tool: HostTool, args: JsonObject | undefined, decision: Decision, signal?: AbortSignal): Promise<void>;
}

export function createAccess({ policy, onApprove, lock }: AccessOptions): Access {
  const decide = createPolicy(policy);
  const compiled = new WeakMap<ServerRules, Compiled>();

  const rulesOf = (rules: ServerRules): Compiled => {
    const known = compiled.get(rules) ?? compile(rules);
    compiled.set(rules, known);
    return known;
  };

  return {
    get isOpen() {
      return policy === undefined && lock() === undefined;
    },
    async judge(tool, rules) {
      const { isThere, isApproved } = rulesOf(rules);
      if (!isThere(tool.localName))
        return { action: "deny", by: `the tool filter of server ${tool.server}`, source: "filter" };
      const decided = decide(tool);
      const isConsented = decided.action === "approve" && isApproved(tool.localName);
      const decision: Decision = isConsented ? { action: "allow", by: "its configuration", source: "policy" } : decided;
      const approved = lock();
      if (approved === undefined || decision.action === "deny") return decision;
      const verdict = await lockVerdict(approved, tool.server, originalOf(tool));
      return verdict === "approved" ? decision : { action: "deny", by: refusals[verdict], source: "lock" };
    },
    async approve(tool, args = {}, { by }, signal) {
      if (onApprove === undefined) {
        const message = `${tool.name} needs approval (${by}), and nobody can be asked: give the host onApprove, or approve the tool in its configuration`;
        throw new McpError("denied", message, { data: { by: "approval", rule: by } });
      }
      const request = { server: tool.server, tool, arguments: args, signal };
      if ((await onApprove(request)) !== true)
        throw new McpError("declined", `the call of ${tool.name} was not approved`);
    },
  };
}

const refusals = {
  changed: "the lockfile: the tool is not what was approved",
  unknown: "the lockfile: nobody has approved the tool",
};

/** The error of a call that is not allowed. */
export function denied(name: string, { by, source }: Decision): McpError {
  const isLocked = source === "lock";
  const hint = isLocked ? "; look at the tool, then approve it with approveTools" : "";
  const data = { by: isLocked ? "lock" : "policy", rule: by };
  return new McpError("denied", `${name} must not be called: denied by ${by}${hint}`, { data });
}

interface Compiled {
  isThere(name: string): boolean;
  isApproved(name: string): boolean;
}

function compile({ tools: { allow, deny = [] } = {}, approved = [] }: ServerRules): Compiled {
  const isAllowed = allow === undefined ? () => true : toMatcher(allow);
  const isDenied = toMatcher(deny);
  return {
    isThere: (name) => !isDenied(name) && isAllowed(name),
    isApproved: approved === "all" ? () => true : toMatcher(approved),
  };
}

/** `approve` asks `onApprove` before every call; `deny` hides the tool and refuses calls. */
export type PolicyAction = "allow" | "approve" | "deny";

/** What a tool is said to do. What a server does not say counts as the worst. */
export interface PolicyHints {
  readonly readOnly?: boolean | undefined;
  readonly destructive?: boolean | undefined;
  readonly idempotent?: boolean | undefined;
  readonly openWorld?: boolean | undefined;
}

export interface PolicyRule {
  readonly action: PolicyAction;
  /** Globs on `server:tool`. Absent means every tool. */
  readonly tools?: string | readonly string[] | undefined;
  /**
   * Only tools that are said to be so. Hints are what a server says of itself:
   * they can save a user from being asked, they cannot make a server harmless.
   */
  readonly when?: PolicyHints | undefined;
}

/**
 * Rules, or a function that decides.
 *
 * A rule that denies wins over all others, wherever it stands. Then the first rule that fits decides. Where none does,
 * the tool is allowed, unless there is a rule `{ action: "deny" }` without conditions: then it is denied.
 */
export type Policy = readonly PolicyRule[] | ((tool: HostTool) => PolicyAction);

/** A call that waits for consent. */
export interface ApprovalRequest {
  readonly server: string;
  readonly tool: HostTool;
  readonly arguments: JsonObject;
  readonly signal: AbortSignal | undefined;
}

/** What a policy says of a tool, and by which rule. */
interface Decision {
  readonly action: PolicyAction;
  /** For people. */
  readonly by: string;
  readonly source: "policy" | "lock" | "filter";
}

type Decide = (tool: HostTool) => Decision;

const allowed: Decision = { action: "allow", by: "no rule", source: "policy" };

export function createPolicy(policy: Policy | undefined): Decide {
  if (policy === undefined) return () => allowed;
  if (typeof policy === "function") return (tool) => ({ action: policy(tool), by: "the policy", source: "policy" });
  const rules = policy.map(toRule);
  const denying = rules.filter(({ decision, isRest }) => decision.action === "deny" && !isRest);
  const others = rules.filter(({ decision }) => decision.action !== "deny");
  const rest = rules.find(({ isRest, decision }) => isRest && decision.action === "deny")?.decision ?? allowed;
  const inOrder = [...denying, ...others];
  return (tool) => inOrder.find(({ fits }) => fits(tool))?.decision ?? rest;
}

interface Rule {
  readonly decision: Decision;
  /** True when it has no conditions. Denying, it is meant for what no other rule is about. */
  readonly isRest: boolean;
  fits(tool: HostTool): boolean;
}

function toRule({ action, tools, when }: PolicyRule, index: number): Rule {
  const isNamed = tools === undefined ? () => true : toMatcher([tools].flat());
  return {
    decision: { action, by: `rule ${index + 1} of the policy`, source: "policy" },
    isRest: tools === undefined && when === undefined,
    fits: ({ name, annotations }) => isNamed(name) && (when === undefined || areHints(when, annotations)),
  };
}

/** Whether a tool is said to be so. */
export function areHints(when: PolicyHints, annotations: ToolAnnotations = {}): boolean {
  const { readOnlyHint = false, destructiveHint = true, idempotentHint = false, openWorldHint = true } = annotations;
  const said: { readonly [K in keyof PolicyHints]-?: boolean } = {
    readOnly: readOnlyHint,
    // What changes nothing destroys nothing.
    destructive: destructiveHint && !readOnlyHint,
    idempotent: idempotentHint || readOnlyHint,
    openWorld: openWorldHint,
  };
  return (Object.keys(said) as (keyof PolicyHints)[]).every((hint) => (when[hint] ?? said[hint]) === said[hint]);
}
