import type { JsonObject } from "../json/json.ts";
import type { Annotations, Icon } from "../model/content.ts";
import type { Resource } from "../model/resource.ts";
import type { TemplateVariables } from "../std/uri-template.ts";
import { type MatchedVariables, toMatcher } from "../std/uri-template-match.ts";
import { parseParts } from "../std/uri-template-syntax.ts";
import type { Completers } from "./completion.ts";
import type { Context } from "./context.ts";
import { kit } from "./kit.ts";
import { toReadResult } from "./resource-result.ts";

/** What `read` may return: text, bytes, contents, or any other JSON value. Nothing means: no such resource. */
export type ResourceReturn = unknown;

export interface ResourceDescription {
  /** Default: the URI or template. */
  readonly name?: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly icons?: readonly Icon[];
  readonly annotations?: Annotations;
  readonly meta?: JsonObject;
  /** In bytes. Only for a resource, not for a template. */
  readonly size?: number;
  /** How long a client may keep what it read. Default: the server's. */
  readonly ttlMs?: number;
  readonly cacheScope?: "public" | "private";
  /** Suggests values for variables of a template, by name. */
  readonly complete?: Completers;
  /** Resources of a template that are worth listing. */
  readonly list?: () => readonly Resource[] | Promise<readonly Resource[]>;
}

export interface ResourceOptions<U extends string> extends ResourceDescription {
  /** Reads it. `variables` are those of the template, decoded. */
  read(variables: TemplateVariables<U>, context: Context): ResourceReturn | Promise<ResourceReturn>;
}

/** A resource or template as the server keeps it. */
export interface ResourceDefinition extends ResourceDescription {
  /** A URI, or an RFC 6570 template. */
  readonly uri: string;
  read(variables: unknown, context: Context): ResourceReturn | Promise<ResourceReturn>;
  readonly [kit]: ResourceKit;
}

/** What serving resources takes. */
export interface ResourceKit {
  /** How a template matches URIs, or what is wrong with it. */
  readTemplate(template: string): ReadTemplate;
  readonly toReadResult: typeof toReadResult;
}

export type ReadTemplate =
  | { readonly ok: true; readonly match: (uri: string) => MatchedVariables | undefined }
  | { readonly ok: false; readonly problem: string };

const resourceKit: ResourceKit = {
  readTemplate(template) {
    const parsed = parseParts(template);
    return parsed.ok ? { ok: true, match: toMatcher(parsed.value) } : parsed;
  },
  toReadResult,
};

/** Defines a resource by its URI, or many by a template: `resource("stock://{sku}", { read: ({ sku }) => … })`. */
export function resource<const U extends string>(uri: U, options: ResourceOptions<U>): ResourceDefinition {
  return { uri, ...options, [kit]: resourceKit } as ResourceDefinition;
}
