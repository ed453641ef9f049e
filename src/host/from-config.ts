import type { ConfigProblem } from "../config/problem.ts";
import { formatProblem } from "../config/problem.ts";
import type { Config } from "../config/resolve-config.ts";
import type { OAuthSettings, ServerEntry } from "../config/server-entry.ts";
import type { Authorizer } from "../model/authorizer.ts";
import type { ServerSpec } from "./spec.ts";

/** A server at a URL that may want to know who comes. */
export interface AuthRequest {
  readonly server: string;
  readonly url: string;
  /** What the file says about signing in. */
  readonly oauth?: OAuthSettings;
}

/** Shows servers at URLs who the host is: `({ oauth }) => signIn(oauth)`. Undefined: nobody in particular. */
export type AuthFor = (request: AuthRequest) => Authorizer | undefined;

export interface SpecsOptions {
  readonly auth?: AuthFor | undefined;
  /** Whether files may say which tools need no approval. */
  readonly believesApprovals: boolean;
}

export type ToSpecs = (config: Config) => Readonly<Record<string, ServerSpec>>;

/**
 * Makes specs of configurations. Equal entries give equal specs, so that a
 * change of a file touches only what it is about.
 */
export function createSpecs({ auth: authFor, believesApprovals }: SpecsOptions): ToSpecs {
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
          : toSpec(believesApprovals ? entry : { ...entry, trust: [] }, authOf(entry)),
      ];
    });
    return Object.fromEntries(specs);
  };
}

/** What is wrong with one server keeps that one from running, and no other. */
function broken(problems: readonly ConfigProblem[]): ServerSpec {
  const errors = problems.filter(({ level }) => level === "error");
  const message = errors.map(formatProblem).join("\n") || "its configuration cannot be used";
  return { target: { command: "" }, off: { code: "invalid-config", message } };
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
    ...(Object.keys(options).length > 0 && { options }),
    ...(!enabled && { off: { code: "unsupported", message: `switched off in ${where}` } }),
  };
}
