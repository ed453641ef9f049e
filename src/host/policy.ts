import type { JsonObject } from "../json/json.ts";
import type { ToolAnnotations } from "../model/tool.ts";
import { toMatcher } from "./glob.ts";
import type { HostTool } from "./host-tool.ts";

/** `approve` asks `onApprove` before every call; `deny` hides the tool and refuses calls. */
export type PolicyAction = "allow" | "approve" | "deny";

/** What a tool is said to do. What a server does not say counts as the worst. */
export interface PolicyHints {
  readonly readOnly?: boolean;
  readonly destructive?: boolean;
  readonly idempotent?: boolean;
  readonly openWorld?: boolean;
}

export interface PolicyRule {
  readonly action: PolicyAction;
  /** Globs on `server:tool`. Absent means every tool. */
  readonly tools?: string | readonly string[];
  /**
   * Only tools that are said to be so. Hints are what a server says of itself:
   * they can save a user from being asked, they cannot make a server harmless.
   */
  readonly when?: PolicyHints;
}

/** The first rule that fits decides; where none does, the tool is allowed. Or a function that decides. */
export type Policy = readonly PolicyRule[] | ((tool: HostTool) => PolicyAction);

/** A call that waits for consent. */
export interface ApprovalRequest {
  readonly server: string;
  readonly tool: HostTool;
  readonly arguments: JsonObject;
  readonly signal: AbortSignal | undefined;
}

/** What a policy says of a tool, and by which rule. */
export interface Decision {
  readonly action: PolicyAction;
  /** For people. */
  readonly by: string;
}

export type Decide = (tool: HostTool) => Decision;

const allowed: Decision = { action: "allow", by: "no rule" };

export function createPolicy(policy: Policy | undefined): Decide {
  if (policy === undefined) return () => allowed;
  if (typeof policy === "function") return (tool) => ({ action: policy(tool), by: "the policy" });
  const rules = policy.map(({ action, tools, when }, index) => ({
    decision: { action, by: `rule ${index + 1} of the policy` },
    fits: tools === undefined ? () => true : toMatcher([tools].flat()),
    when,
  }));
  return (tool) =>
    rules.find(({ fits, when }) => fits(tool.name) && (when === undefined || areHints(when, tool.annotations)))
      ?.decision ?? allowed;
}

function areHints(when: PolicyHints, annotations: ToolAnnotations = {}): boolean {
  const { readOnlyHint = false, destructiveHint = true, idempotentHint = false, openWorldHint = true } = annotations;
  const said: Required<PolicyHints> = {
    readOnly: readOnlyHint,
    // What changes nothing destroys nothing.
    destructive: destructiveHint && !readOnlyHint,
    idempotent: idempotentHint || readOnlyHint,
    openWorld: openWorldHint,
  };
  return (Object.keys(said) as (keyof PolicyHints)[]).every((hint) => (when[hint] ?? said[hint]) === said[hint]);
}
