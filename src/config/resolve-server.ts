import { defined } from "../std/defined.ts";
import type { Draft, Setting } from "./draft.ts";
import { createExpander, type Expanded, type Expander } from "./expander.ts";
import type { Place } from "./place.ts";
import type { ConfigProblem } from "./problem.ts";
import { isCommand } from "./read-server.ts";
import { type ResolvedTarget, resolveCommand } from "./resolve-command.ts";
import { resolveUrl } from "./resolve-url.ts";
import { withoutSecrets } from "./secrets.ts";
import type {
  CommandTarget,
  FieldOrigin,
  OAuthSettings,
  ServerEntry,
  ServerOrigin,
  UrlTarget,
} from "./server-entry.ts";
import type { Variables } from "./variables.ts";

export interface ResolvedServer {
  /** Absent when there is an error among the problems. */
  readonly entry?: ServerEntry;
  readonly origin: ServerOrigin;
  readonly problems: readonly ConfigProblem[];
}

export interface ResolveServerOptions {
  readonly variables: Variables;
  readonly lenient: boolean;
  /** Entries of the same name that this one replaces. */
  readonly replaces: readonly Place[];
}

/** Puts variables into what was read of a server. */
export async function resolveServer(draft: Draft, options: ResolveServerOptions): Promise<ResolvedServer> {
  const expander = createExpander(draft, options.variables, options.lenient);
  const readable = draft.problems.length === 0;
  const { target, fields, envFile } = readable ? await resolveTarget(draft, expander, options) : nothing;
  const oauth = readable ? await resolveOAuth(draft, expander) : { fields: [] };
  const origin: ServerOrigin = {
    name: draft.name,
    dialect: draft.dialect.name,
    place: draft.at,
    fields: withoutTheirSecrets([...fields, ...oauth.fields, ...draft.facts], expander.secrets),
    ignored: draft.ignored,
    replaces: options.replaces,
  };
  const problems = [...draft.problems, ...expander.problems];
  if (target === undefined || problems.some(({ level }) => level === "error")) return { origin, problems };
  return { entry: toEntry(draft, { target, envFile, oauth: oauth.settings, origin }), origin, problems };
}

const nothing: ResolvedTarget = { target: undefined, fields: [] };

function resolveTarget(draft: Draft, expander: Expander, { variables }: ResolveServerOptions): Promise<ResolvedTarget> {
  return isCommand(draft) ? resolveCommand(draft, expander, variables) : resolveUrl(draft, expander);
}

/** Hides what is secret in one field wherever else it is. */
function withoutTheirSecrets(fields: readonly FieldOrigin[], secrets: Iterable<string>): readonly FieldOrigin[] {
  const longestFirst = [...secrets].sort((a, b) => b.length - a.length);
  return fields.map((field) => {
    const shown = withoutSecrets(field.shown, longestFirst);
    return shown === field.shown ? field : { ...field, shown, secret: true };
  });
}

interface ResolvedOAuth {
  readonly settings?: OAuthSettings | false;
  readonly fields: readonly FieldOrigin[];
}

async function resolveOAuth({ oauth }: Draft, expander: Expander): Promise<ResolvedOAuth> {
  if (oauth === undefined) return { fields: [] };
  if (oauth === false) return { settings: false, fields: [] };
  const texts: [string, Expanded | undefined][] = [];
  for (const [name, setting] of oauth.texts) {
    texts.push([name, await expander.expand(setting, { sensitive: name === "clientSecret" })]);
  }
  const scopes = oauth.scopes === undefined ? undefined : await expandAll(oauth.scopes, expander);
  const { callbackPort } = oauth;
  const settings: OAuthSettings = {
    ...Object.fromEntries(texts.map(([name, expanded]) => [name, expanded?.text])),
    ...defined({
      callbackPort,
      scopes: scopes?.flatMap(({ text }) => text.split(/\s+/).filter((word) => word !== "")),
    }),
  };
  const fields = [...texts.map(([, expanded]) => expanded), ...(scopes ?? [])];
  return { settings, fields: fields.flatMap((expanded) => expanded?.origin ?? []) };
}

/** Those of the settings that have a value. */
async function expandAll(settings: readonly Setting[], expander: Expander): Promise<readonly Expanded[]> {
  const all: Expanded[] = [];
  for (const setting of settings) {
    const expanded = await expander.expand(setting);
    if (expanded !== undefined) all.push(expanded);
  }
  return all;
}

interface EntryParts {
  readonly target: CommandTarget | UrlTarget;
  readonly envFile: string | undefined;
  readonly oauth: OAuthSettings | false | undefined;
  readonly origin: ServerOrigin;
}

function toEntry(draft: Draft, { target, envFile, oauth, origin }: EntryParts): ServerEntry {
  const { name, enabled, description, connectTimeoutMs, callTimeoutMs, allow, deny, trust } = draft;
  const tools = allow === undefined && deny === undefined ? undefined : defined({ allow, deny });
  const more = defined({ description, connectTimeoutMs, callTimeoutMs, tools, oauth, trust, envFile });
  return { name, target, enabled, ...more, origin };
}
