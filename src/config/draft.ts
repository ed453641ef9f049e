import type { Dialect } from "./dialect.ts";
import type { Place } from "./place.ts";
import type { ConfigProblem } from "./problem.ts";
import type { FieldOrigin, IgnoredField } from "./server-entry.ts";
import type { Part } from "./template.ts";
import type { ConfigNode } from "./tree.ts";

/** A text of an entry, before variables are put in. */
export interface Setting {
  /** Such as `args[0]` or `env.API_KEY`. */
  readonly field: string;
  readonly at: Place;
  readonly parts: readonly Part[];
}

/** What is read of one entry, field by field, whichever way the dialect spells them. */
export interface Draft {
  readonly name: string;
  readonly at: Place;
  readonly dialect: Dialect;
  enabled: boolean;
  /** What `type` or `transport` says, if anything. */
  type?: { readonly is: "stdio" | "http" | "sse" | "remote"; readonly at: Place };
  description?: string;
  command?: Setting;
  args: Setting[];
  readonly env: Map<string, Setting>;
  inheritEnv: string[];
  cwd?: Setting;
  envFile?: Setting;
  url?: Setting;
  readonly headers: Map<string, Setting>;
  connectTimeoutMs?: number;
  callTimeoutMs?: number;
  allow?: readonly string[];
  deny?: readonly string[];
  trust?: "all" | readonly string[];
  oauth?: OAuthDraft | false;
  /** Fields that cannot have variables, as they are shown. */
  readonly facts: FieldOrigin[];
  readonly ignored: IgnoredField[];
  readonly problems: ConfigProblem[];
  /** What was said already, by the field that said it. */
  readonly said: Map<string, string>;
}

/** Reads one field of an entry into a draft. */
export type FieldReader = (draft: Draft, node: ConfigNode, field: string) => void;

export interface OAuthDraft {
  /** By the name of the setting. */
  readonly texts: Map<OAuthText, Setting>;
  scopes?: readonly Setting[];
  callbackPort?: number;
}

export type OAuthText =
  | "clientId"
  | "clientSecret"
  | "redirectUri"
  | "authorizationUrl"
  | "tokenUrl"
  | "metadataUrl"
  | "resource";

export function createDraft(name: string, at: Place, dialect: Dialect): Draft {
  return {
    name,
    at,
    dialect,
    enabled: true,
    args: [],
    env: new Map(),
    inheritEnv: [],
    headers: new Map(),
    facts: [],
    ignored: [],
    problems: [],
    said: new Map(),
  };
}

/** What is wrong with a part of an entry. */
export interface Wrong {
  readonly at: Place;
  readonly field?: string;
  readonly message: string;
  readonly hint?: string;
}

/** Notes an error of this server. */
export function refuse(draft: Draft, { at, ...wrong }: Wrong): void {
  draft.problems.push({ level: "error", place: at, server: draft.name, ...wrong });
}

/** Whether this is the first field that says such a thing. It is an error when two of them do. */
export function claim(draft: Draft, what: string, field: string, at: Place): boolean {
  const other = draft.said.get(what);
  draft.said.set(what, field);
  if (other === undefined) return true;
  refuse(draft, { at, field, message: `${field} says the same as ${other}`, hint: "keep one of them" });
  return false;
}
