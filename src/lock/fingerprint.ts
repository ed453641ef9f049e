import { canonicalText } from "../json/canonical.ts";
import { asJson, type Json } from "../json/json.ts";
import type { Tool } from "../model/tool.ts";
import { toBase64Url } from "../std/base64.ts";
import { defined } from "../std/defined.ts";

/** By identity: tools do not change, and a host asks for the same ones again and again. */
const known = new WeakMap<Tool, Promise<string>>();

/**
 * The fingerprint of a tool: equal for tools that say the same to people and
 * models, in whatever order, and for no others. Counted is what
 * {@link approvedPartOf} keeps.
 */
export function fingerprintOf(tool: Tool): Promise<string> {
  const before = known.get(tool);
  if (before !== undefined) return before;
  const fingerprint = digestOf(asJson(approvedPartOf(tool)));
  known.set(tool, fingerprint);
  return fingerprint;
}

/**
 * What somebody approves of a tool: everything that says what it does and how
 * it is called. Not `icons`, `execution` and `_meta`, which change by revision
 * and version, and no model is told.
 */
export function approvedPartOf(tool: Tool): Tool {
  const { name, title, description, inputSchema, outputSchema, annotations } = tool;
  return defined({ name, title, description, inputSchema, outputSchema, annotations });
}

/** `sha256-` and the digest of a value: equal for equal values. */
export async function digestOf(value: Json): Promise<string> {
  const bytes = new TextEncoder().encode(canonicalText(value));
  return `sha256-${toBase64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)))}`;
}
