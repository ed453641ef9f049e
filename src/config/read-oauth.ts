import { claim, type Draft, type OAuthDraft, type OAuthText, refuse } from "./draft.ts";
import { shownName } from "./problem.ts";
import { fact, readFlag, readSetting, readSettings, wrongKind } from "./read-values.ts";
import { maskText } from "./secrets.ts";
import type { ConfigNode, ObjectNode } from "./tree.ts";

/** Reads how to sign in: an object, or `false` when it must not happen. */
export function readOAuth(draft: Draft, node: ConfigNode, field: string): void {
  if (!claim(draft, "oauth", field, node.at)) return;
  if (node.kind === "flag") {
    if (readFlag(draft, node, field) === false) draft.oauth = false;
    else oauthOf(draft);
    return;
  }
  if (node.kind !== "object") return void wrongKind(draft, node, field, "an object, or false");
  readMembers(draft, node, field);
}

function readMembers(draft: Draft, node: ObjectNode, field: string): void {
  for (const [name, { at, value }] of node.members) {
    const inner = `${field}.${shownName(name)}`;
    const spelled = name.toLowerCase().replaceAll(/[^a-z]/g, "");
    const text = texts.get(spelled);
    if (value.kind === "nothing") continue;
    if (text !== undefined) readText(draft, value, inner, text);
    else if (spelled === "scope" || spelled === "scopes") readScopes(draft, value, inner);
    else if (spelled === "callbackport") readPort(draft, value, inner);
    else if (spelled === "enabled") readEnabled(draft, value, inner);
    else draft.ignored.push({ field: inner, place: at });
  }
}

/** Spelled in small letters and nothing else: dialects have `clientId`, `client_id` and `CLIENT_ID`. */
const texts: ReadonlyMap<string, OAuthText> = new Map<string, OAuthText>([
  ["clientid", "clientId"],
  ["clientsecret", "clientSecret"],
  ["redirecturi", "redirectUri"],
  ["authorizationurl", "authorizationUrl"],
  ["tokenurl", "tokenUrl"],
  ["authservermetadataurl", "metadataUrl"],
  ["metadataurl", "metadataUrl"],
  ["resource", "resource"],
]);

function readText(draft: Draft, node: ConfigNode, field: string, text: OAuthText): void {
  if (!claim(draft, `oauth.${text}`, field, node.at)) return;
  const setting = readSetting(draft, node, field);
  if (setting !== undefined) oauthOf(draft)?.texts.set(text, setting);
}

/** A list, or one text with spaces between scopes. */
export function readScopes(draft: Draft, node: ConfigNode, field: string): void {
  if (!claim(draft, "oauth.scopes", field, node.at)) return;
  const oauth = oauthOf(draft);
  if (oauth === undefined) return;
  const one = node.kind === "text" ? readSetting(draft, node, field) : undefined;
  oauth.scopes = one === undefined ? readSettings(draft, node, field) : [one];
}

export function readResource(draft: Draft, node: ConfigNode, field: string): void {
  readText(draft, node, field, "resource");
}

/** Gemini CLI can sign in with what Google's own tools have on a machine. */
export function readAuthProvider(draft: Draft, node: ConfigNode, field: string): void {
  if (node.kind !== "text") return void wrongKind(draft, node, field, "text");
  fact(draft, node, field, node.text);
  if (node.text === "dynamic_discovery") return;
  const message = `${field} is ${shownName(maskText(node.text))}, which is not there`;
  refuse(draft, { at: node.at, field, message, hint: "sign in by OAuth, or write headers" });
}

function readPort(draft: Draft, node: ConfigNode, field: string): void {
  const port = node.kind === "number" ? node.value : Number.NaN;
  if (!(Number.isInteger(port) && port > 0 && port < 65_536)) {
    return void wrongKind(draft, node, field, "a port from 1 to 65535");
  }
  fact(draft, node, field, String(port));
  const oauth = oauthOf(draft);
  if (oauth !== undefined) oauth.callbackPort = port;
}

function readEnabled(draft: Draft, node: ConfigNode, field: string): void {
  if (readFlag(draft, node, field) === false) draft.oauth = false;
}

/** What is said of OAuth by now. Undefined when it is forbidden. */
function oauthOf(draft: Draft): OAuthDraft | undefined {
  draft.oauth ??= { texts: new Map() };
  return draft.oauth === false ? undefined : draft.oauth;
}
