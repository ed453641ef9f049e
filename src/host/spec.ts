import type { ConnectOptions } from "../connect/create-connect.ts";
import type { Target } from "../connect/target.ts";
import type { Failure } from "../model/errors.ts";

/** What a server may ask of the host, beyond answering calls. */
export interface Trust {
  /** Ask the user: forms and pages. Default true. */
  readonly ask?: boolean;
  /** Use the model of the host. Default false. */
  readonly sample?: boolean;
  /** See the roots. Default: only programs on this machine. */
  readonly roots?: boolean;
}

/** Which tools of a server are there for the host. Globs on the names the server gives them. */
export interface ToolFilter {
  /** Absent means all. */
  readonly allow?: readonly string[];
  /** Wins over `allow`. */
  readonly deny?: readonly string[];
}

/** One server of a host. */
export interface ServerSpec {
  readonly target: Target;
  /** `lazy` connects when the server is first needed. Default: what the host says. */
  readonly connect?: "eager" | "lazy";
  readonly trust?: Trust;
  readonly tools?: ToolFilter;
  /** Tools that need no approval, whatever the policy says of approving: all, or globs on the names the server gives them. */
  readonly approved?: "all" | readonly string[];
  /** What the host asks for when it signs in there: a lock has a say in it. */
  readonly scopes?: readonly string[];
  /** For this server, over those of the host. */
  readonly options?: ServerOptions;
  /** Lets go of the server when nobody has used it for so long. Default: what the host says. */
  readonly idleMs?: number;
  /** Why this server is not to be used: it is listed as `off`, with this reason. */
  readonly off?: Failure;
}

/** What a connection can be told. Handlers of questions belong to the host. */
export type ServerOptions = Pick<
  ConnectOptions,
  | "auth"
  | "cache"
  | "checkOutput"
  | "connectTimeoutMs"
  | "era"
  | "fetch"
  | "headers"
  | "info"
  | "jsonLimits"
  | "logLevel"
  | "maxBodyBytes"
  | "maxInFlight"
  | "maxLineBytes"
  | "maxPages"
  | "maxRounds"
  | "maxTotalMs"
  | "probeMs"
  | "revision"
  | "tasks"
  | "timeoutMs"
>;
