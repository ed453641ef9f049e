import { type ConfigProblem, formatConfigProblem } from "../config/problem.ts";
import type { Config } from "../config/resolve-config.ts";
import type { OAuthSettings, ServerEntry } from "../config/server-entry.ts";
import type { ConnectOptions } from "../connect/connect-options.ts";
import type { Target } from "../connect/target.ts";
import type { Authorizer } from "../protocol/authorizer.ts";
import type { Failure } from "../protocol/errors.ts";

/** What a server may ask of the host, beyond answering calls. */
export interface Trust {
  /** Ask the user: forms and pages. Default true. */
  readonly ask?: boolean | undefined;
  /** Use the model of the host. Default false. */
  readonly sample?: boolean | undefined;
  /** See the roots. Default: only programs on this machine. */
  readonly roots?: boolean | undefined;
}

/** The same, all of it said. */
export type FullTrust = { readonly [K in keyof Trust]-?: boolean };

/** Which tools of a server are there for the host. Globs on the names the server gives them. */
export interface ToolFilter {
  /** Absent means all. */
  readonly allow?: readonly string[] | undefined;
  /** Wins over `allow`. */
  readonly deny?: readonly string[] | undefined;
}

/** One server of a host. */
export interface ServerSpec {
  readonly target: Target;
  /** `lazy` connects when the server is first needed. Default: what the host says. */
  readonly connect?: "eager" | "lazy" | undefined;
  readonly trust?: Trust | undefined;
  readonly tools?: ToolFilter | undefined;
  /** Tools that need no approval, whatever the policy says of approving: all, or globs on the names the server gives them. */
  readonly approved?: "all" | readonly string[] | undefined;
  /** What the host asks for when it signs in there: a lock has a say in it. */
  readonly scopes?: readonly string[] | undefined;
  /** For this server, over those of the host. */
  readonly connectOptions?: HostConnectOptions | undefined;
  /** Lets go of the server when nobody has used it for so long. Default: what the host says. */
  readonly idleTimeoutMs?: number | undefined;
  /** Why this server is not to be used: it is listed as `off`, with this reason. */
  readonly disabled?: Failure | undefined;
}

/** What a connection can be told. Handlers of questions belong to the host. */
export type HostConnectOptions = Pick<
  ConnectOptions,
  | "allowInsecureHttp"
  | "allowPrivateNetwork"
  | "auth"
  | "cache"
  | "checkOutput"
  | "connectTimeoutMs"
  | "fetch"
  | "headers"
  | "info"
  | "limits"
  | "logLevel"
  | "maxOpenRequests"
  | "maxQueuedCalls"
  | "maxListBytes"
  | "maxPages"
  | "maxRounds"
  | "maxTotalMs"
  | "probeMs"
  | "revision"
  | "revisionHint"
  | "tasks"
  | "telemetry"
  | "timeoutMs"
>;

/** A server at a URL that may want to know who comes. */
export interface AuthRequest {
  readonly server: string;
  readonly url: string;
  /** What the file says about signing in. */
  readonly oauth?: OAuthSettings;
}

/** Shows servers at URLs who the host is: `({ oauth }) => signIn(oauth)`. Undefined: nobody in particular. */
export type AuthFor = (request: AuthRequest) => Authorizer | undefined;

interface SpecsOptions {
  readonly auth?: AuthFor | undefined;
  /** Whether files may say which tools need no approval. */
  readonly trustFileApprovals: boolean;
}

type ToSpecs = (config: Config) => Readonly<Record<string, ServerSpec>>;

/**
 * Makes specs of configurations. Equal entries give equal specs, so that a
 * change of a file touches only what it is about.
 */
export function createSpecs({ auth: authFor, trustFileApprovals }: SpecsOptions): ToSpecs {
  const authorizers = new Map<string, Authorizer | undefined>();

  const authOf = ({ name, target, oauth }: ServerEntry): Authorizer | undefined => {
    if (authFor === undefined || !("url" in target) || oauth === false) return undefined;
    const key = JSON.stringify([name, target.url, oauth]);
    if (!authorizers.has(key)) {
      authorizers.set(key, authFor({ server: name, url: target.url, ...(oauth && { oauth }) }));
    }
    return authorizers.get(key);
  };

  return ({ servers, problems, origins }) => {
    const entries = new Map(servers.map((entry) => [entry.name, entry]));
    const specs = origins.map(({ name }): readonly [string, ServerSpec] => {
      const entry = entries.get(name);
      return [
        name,
        entry === undefined
          ? broken(problems.filter(({ server }) => server === name))
          : toSpec(trustFileApprovals ? entry : { ...entry, trust: [] }, authOf(entry)),
      ];
    });
    return Object.fromEntries(specs);
  };
}

/** What is wrong with one server keeps that one from running, and no other. */
function broken(problems: readonly ConfigProblem[]): ServerSpec {
  const errors = problems.filter(({ level }) => level === "error");
  const message = errors.map(formatConfigProblem).join("\n") || "its configuration cannot be used";
  return { target: { command: "" }, disabled: { code: "invalid-config", message } };
}

function toSpec(entry: ServerEntry, auth: Authorizer | undefined): ServerSpec {
  const { target, enabled, tools, trust, oauth, connectTimeoutMs, callTimeoutMs, origin } = entry;
  const scopes = oauth === false ? undefined : oauth?.scopes;
  const options = {
    ...(connectTimeoutMs !== undefined && { connectTimeoutMs }),
    ...(callTimeoutMs !== undefined && { timeoutMs: callTimeoutMs }),
    ...(auth && { auth }),
  };
  const { path, line } = origin.place;
  const where = line === undefined ? path : `${path}:${line}`;
  return {
    target,
    ...(tools && { tools }),
    ...(scopes !== undefined && { scopes }),
    ...(trust !== undefined && trust.length > 0 && { approved: trust }),
    ...(Object.keys(options).length > 0 && { connectOptions: options }),
    ...(!enabled && { disabled: { code: "unsupported", message: `switched off in ${where}` } }),
  };
}
