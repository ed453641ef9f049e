import type { PolicyHints } from "../host/access.ts";
import type { Json } from "../json/json.ts";

/**
 * `deny` hides and refuses, `allow` and `approve` let a call pass, at once or once somebody has said yes. `redact` and `rate`
 * are added to what other rules decide: they allow nothing.
 */
export type GatewayRuleAction = "allow" | "deny" | "approve" | "redact" | "rate";

/** Who may do what at a gateway. All conditions of a rule must hold; one that is left out holds for everything. */
export interface GatewayRule {
  readonly action: GatewayRuleAction;
  /** What errors, events and `explain` call the rule. Default: its position, `rule 1`. */
  readonly name?: string | undefined;
  /** Globs on the principal. Callers that nobody has authenticated fit none. */
  readonly users?: string | readonly string[] | undefined;
  /** Globs on the groups of the caller, of which one must fit. */
  readonly groups?: string | readonly string[] | undefined;
  /** Globs on the name of the server. */
  readonly servers?: string | readonly string[] | undefined;
  /** Globs on `server:tool`. With `tools`, `prompts` or `resources`, a rule is about those alone. */
  readonly tools?: string | readonly string[] | undefined;
  /** Globs on `server:prompt`. */
  readonly prompts?: string | readonly string[] | undefined;
  /** Globs on the URIs of resources. */
  readonly resources?: string | readonly string[] | undefined;
  /** Conditions on arguments of tools and prompts, by a JSON Pointer or a name with dots. */
  readonly arguments?: Readonly<Record<string, ArgumentCondition>> | undefined;
  /** Only tools that are said to be so. What a server does not say counts as the worst. */
  readonly when?: PolicyHints | undefined;
  /** With `approve`: who is asked. `queue`, the default, is `gateway.approvals`; `caller` is the user of the client. */
  readonly approve?: "queue" | "caller" | undefined;
  /** With `redact`: what is replaced by `[redacted]` in results. */
  readonly redact?: RedactOptions | undefined;
  /** With `rate`: how often. */
  readonly rate?: RuleRate | undefined;
}

/** A condition on one argument. Exactly one member. */
export interface ArgumentCondition {
  /** The same JSON value. */
  readonly equals?: Json | undefined;
  /** Globs on a text, a number or a boolean, of which one must fit. */
  readonly glob?: string | readonly string[] | undefined;
  /** One of these JSON values. */
  readonly oneOf?: readonly Json[] | undefined;
  /** True: there is no such argument. False: there is one. */
  readonly absent?: boolean | undefined;
}

/** What is replaced in results. At least one member. */
export interface RedactOptions {
  /** Members of structured content and of texts that are JSON: `customer.ssn`, `/items/0/price`; `*` is any one, `**` any depth. */
  readonly members?: string | readonly string[] | undefined;
  /** Regular expressions (flag `u`) on every text of a result. Refused where they might take too long. */
  readonly patterns?: string | readonly string[] | undefined;
}

export interface RuleRate {
  /** How many calls there may be in a window. */
  readonly limit: number;
  readonly windowMs: number;
  /** Whose calls count together: those of each caller (`caller`, the default), or those of all (`all`). */
  readonly by?: "caller" | "all" | undefined;
}

/** A rule, as decisions name it. */
export interface RuleRef {
  /** In `rules`, from 0. */
  readonly index: number;
  readonly name: string;
}
