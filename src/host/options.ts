import type { Lock } from "../lock/lock.ts";
import type { Implementation } from "../model/peer.ts";
import type { Clock } from "../std/clock.ts";
import type { RestartRules } from "./member-state.ts";
import type { ApprovalRequest, Policy } from "./policy.ts";
import type { QuestionOptions } from "./questions.ts";
import type { ResultBudget } from "./results.ts";
import type { ServerOptions } from "./spec.ts";

export interface HostOptions extends QuestionOptions {
  /** `eager` (the default) connects to all servers at once and keeps them up; `lazy` to each when it is first needed. */
  readonly connect?: "eager" | "lazy";
  /** How many servers are being connected to at once. Default 8; 0 is off. */
  readonly maxConnecting?: number;
  /** When servers that failed are tried again. */
  readonly restart?: RestartRules;
  /** How often a server of an older revision is asked whether it is there. Default 60 s; 0 is off. */
  readonly healthMs?: number;
  /** Lets go of servers that nobody has used for so long. Default 0: never. */
  readonly idleMs?: number;
  /** How long lists are kept of servers that announce no changes. Default 60 s. */
  readonly keepListsMs?: number;
  /** What may be called, and what has to be approved. Default: everything may be called. */
  readonly policy?: Policy;
  /** Asked before a tool is called whose policy is `approve`. Only `true` is a yes. */
  readonly onApprove?: (request: ApprovalRequest) => boolean | Promise<boolean>;
  /**
   * What was approved. A tool that is not in it, or is not what it was, is not
   * listed and cannot be called. Servers that are not connected are listed by it.
   */
  readonly lock?: Lock;
  /** False gives results as they come, whatever their size. */
  readonly results?: ResultBudget | false;
  /**
   * How often a call whose connection broke is sent again, where the server
   * says that the tool only reads, or that calling it twice is calling it once.
   * Default 1.
   */
  readonly retries?: number;
  /** What the host says of itself, to servers and to who calls it as a server. */
  readonly info?: Implementation;
  /** For all servers. */
  readonly options?: ServerOptions;
  readonly clock?: Clock;
}
