import { maskUrl } from "../std/secrets.ts";
import { shownName } from "./problem.ts";
import type { Draft, Setting } from "./server-draft.ts";
import type { FieldOrigin, ServerEntry } from "./server-entry.ts";
import type { Expanded, Expander } from "./variables.ts";

/** What became of where a server is. */
export interface ResolvedTarget {
  readonly target: ServerEntry["target"] | undefined;
  readonly fields: readonly FieldOrigin[];
  readonly envFile?: string;
}

/** Where a server is, ready to be connected to. */
export async function resolveUrl(draft: Draft, expander: Expander): Promise<ResolvedTarget> {
  // Some dialects let headers refer to variables of the entry.
  const env = await expandRecord(draft.env, expander);
  const own = new Map(env.map(([name, { text }]) => [name, text]));
  const url = draft.url === undefined ? undefined : await expander.expand(draft.url, { own });
  const headers = await expandRecord(draft.headers, expander, own);
  const fields = [...env, ...headers].map(([, { origin }]) => origin);
  if (url === undefined || draft.url === undefined) return { target: undefined, fields };
  const shown = maskUrl(url.shown);
  const origin = { ...url.origin, shown, secret: shown !== url.text };
  if (draft.enabled) {
    checkUrl(url.text, draft.url, expander);
    for (const [name, { text }] of headers) checkHeader(text, draft.headers.get(name) ?? draft.url, expander);
  }
  const type = draft.type?.is === "http" || draft.type?.is === "sse" ? draft.type.is : undefined;
  const target = {
    url: url.text,
    ...(type !== undefined && { type }),
    ...(headers.length > 0 && { headers: Object.fromEntries(headers.map(([name, { text }]) => [name, text])) }),
  };
  return { target, fields: [origin, ...fields] };
}

export function checkUrl(text: string, setting: Setting, expander: Expander): void {
  const { protocol, username, password } = URL.canParse(text) ? new URL(text) : none;
  if (protocol === "") expander.refuse(setting, "is not a URL", "write https:// and where the server is");
  else if (/^wss?:$/.test(protocol)) {
    expander.refuse(setting, `is a ${protocol} URL; there is no WebSocket transport`);
  } else if (!/^https?:$/.test(protocol)) {
    expander.refuse(setting, `is a ${shownName(protocol)} URL`, "only http: and https: can be served");
  } else if (username !== "" || password !== "") {
    expander.refuse(setting, "has a user name or password in it", "send an authorization header instead");
  }
}

const none = { protocol: "", username: "", password: "" };

export function checkHeader(value: string, setting: Setting, expander: Expander): void {
  if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) expander.refuse(setting, "has a character that a header cannot have");
}

export async function expandOptional(setting: Setting | undefined, expander: Expander): Promise<Expanded | undefined> {
  return setting === undefined ? undefined : expander.expand(setting);
}

/** Variables and headers: all of them may be secret. */
export async function expandRecord(
  settings: ReadonlyMap<string, Setting>,
  expander: Expander,
  own?: ReadonlyMap<string, string>,
): Promise<readonly (readonly [string, Expanded])[]> {
  const record: (readonly [string, Expanded])[] = [];
  for (const [name, setting] of settings) {
    const value = await expander.expand(setting, { sensitive: true, ...(own !== undefined && { own }) });
    if (value !== undefined) record.push([name, value]);
  }
  return record;
}
