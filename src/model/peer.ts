import type { JsonObject } from "../json/json.ts";
import type { Icon } from "./content.ts";
import type { Revision } from "./revision.ts";

/** Names a program. Stated, never verified: decide nothing by it. */
export interface Implementation {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
  readonly description?: string;
  readonly websiteUrl?: string;
  readonly icons?: readonly Icon[];
}

/** Extensions by identifier, each with its settings. */
export type Extensions = Readonly<Record<string, JsonObject>>;

/** A capability counts when its key is present. Unknown members are kept. */
export interface ClientCapabilities {
  readonly experimental?: JsonObject;
  readonly roots?: { readonly listChanged?: boolean };
  readonly sampling?: { readonly tools?: JsonObject; readonly context?: JsonObject };
  /** Empty means forms only. */
  readonly elicitation?: { readonly form?: JsonObject; readonly url?: JsonObject };
  readonly extensions?: Extensions;
}

export interface ServerCapabilities {
  readonly experimental?: JsonObject;
  readonly logging?: JsonObject;
  readonly completions?: JsonObject;
  readonly prompts?: { readonly listChanged?: boolean };
  readonly resources?: { readonly subscribe?: boolean; readonly listChanged?: boolean };
  readonly tools?: { readonly listChanged?: boolean };
  readonly extensions?: Extensions;
}

/** A verified identity, put there by whoever checked the credentials. */
export interface Auth {
  /** Who: stable and unique within the issuer. */
  readonly principal: string;
  readonly scopes?: readonly string[];
  readonly claims?: JsonObject;
}

/** Who calls, as stated on this request. Nothing here outlives the call. */
export interface Peer {
  readonly revision: Revision;
  readonly info?: Implementation;
  readonly capabilities: ClientCapabilities;
  readonly auth?: Auth;
}

/** True when the client can show forms: `{}` means forms, `{ url }` alone does not. */
export function canShowForms({ elicitation }: ClientCapabilities): boolean {
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}
