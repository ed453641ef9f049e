import type { JsonObject } from "../json/json.ts";
import type { Lock } from "../lock/lock.ts";
import { verdictOf } from "../lock/verdict.ts";
import { McpError } from "../model/errors.ts";
import { toMatcher } from "./glob.ts";
import { type HostTool, originalOf } from "./host-tool.ts";
import { type ApprovalRequest, createPolicy, type Decision, type Policy } from "./policy.ts";
import type { ServerSpec } from "./spec.ts";

export interface AccessOptions {
  readonly policy?: Policy | undefined;
  readonly onApprove?: ((request: ApprovalRequest) => boolean | Promise<boolean>) | undefined;
  /** What was approved, where somebody has a say in it. */
  lock(): Lock | undefined;
}

/** What is said of the tools of one server. */
export type ServerRules = Pick<ServerSpec, "tools" | "approved">;

/** Decides which tools there are, and who is asked before they are called. */
export interface Access {
  /** True when there is nothing to judge a tool by but its server's own rules. */
  readonly isOpen: boolean;
  judge(tool: HostTool, rules: ServerRules): Promise<Decision>;
  /** Asks for consent. Throws `forbidden` when there is nobody to ask, `declined` when the answer is no. */
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
      if (!isThere(tool.localName)) return { action: "deny", by: `the tool filter of server ${tool.server}` };
      const decided = decide(tool);
      const isConsented = decided.action === "approve" && isApproved(tool.localName);
      const decision: Decision = isConsented ? { action: "allow", by: "its configuration" } : decided;
      const approved = lock();
      if (approved === undefined || decision.action === "deny") return decision;
      const verdict = await verdictOf(approved, tool.server, originalOf(tool));
      return verdict === "approved" ? decision : { action: "deny", by: refusals[verdict] };
    },
    async approve(tool, args = {}, { by }, signal) {
      if (onApprove === undefined) {
        throw new McpError("forbidden", `${tool.name} needs approval (${by}), and the host has no onApprove`);
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
export function denied(name: string, { by }: Decision): McpError {
  return new McpError("forbidden", `${name} must not be called: denied by ${by}`);
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
