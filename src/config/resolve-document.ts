import { defined } from "../std/defined.ts";
import { maskUrl } from "../std/secrets.ts";
import { checkHeader, checkUrl, expandOptional, expandRecord, type ResolvedTarget } from "./resolve-url.ts";
import type { Draft } from "./server-draft.ts";
import type { FieldOrigin } from "./server-entry.ts";
import type { Expanded, Expander, Variables } from "./variables.ts";

/** An OpenAPI document, and how its API is called. */
export async function resolveDocument(draft: Draft, expander: Expander, variables: Variables): Promise<ResolvedTarget> {
  const document = await expandOptional(draft.document, expander);
  const baseUrl = await expandOptional(draft.baseUrl, expander);
  const headers = await expandRecord(draft.headers, expander);
  const fields = [...originsOf(document), ...originsOf(baseUrl), ...headers.map(([, { origin }]) => origin)];
  if (document === undefined) return { target: undefined, fields };
  if (draft.enabled) {
    if (baseUrl !== undefined && draft.baseUrl !== undefined) checkUrl(baseUrl.text, draft.baseUrl, expander);
    for (const [name, { text }] of headers) {
      const setting = draft.headers.get(name);
      if (setting !== undefined) checkHeader(text, setting, expander);
    }
  }
  const isUrl = /^https?:\/\//i.test(document.text);
  const target = {
    type: "openapi" as const,
    document: isUrl ? document.text : variables.resolvePath(document.text),
    ...defined({ baseUrl: baseUrl?.text, include: draft.include, exclude: draft.exclude }),
    ...(headers.length > 0 && { headers: Object.fromEntries(headers.map(([name, { text }]) => [name, text])) }),
  };
  return { target, fields };
}

/** A module that is loaded into this process. */
export async function resolveModule(draft: Draft, expander: Expander, variables: Variables): Promise<ResolvedTarget> {
  const module = await expandOptional(draft.module, expander);
  if (module === undefined) return { target: undefined, fields: [] };
  return { target: { type: "module", module: variables.resolvePath(module.text) }, fields: originsOf(module) };
}

/** Where a text was said, without what may be secret in a URL. */
function originsOf(expanded: Expanded | undefined): readonly FieldOrigin[] {
  if (expanded === undefined) return [];
  const shown = /^https?:\/\//i.test(expanded.text) ? maskUrl(expanded.shown) : expanded.shown;
  return [{ ...expanded.origin, shown, secret: expanded.origin.secret || shown !== expanded.shown }];
}
