import type { Problem } from "../json/check.ts";
import { isObject, type Json, type JsonObject } from "../json/json.ts";
import type { Annotations, Icon, Resource, ResourceContents, ResourceTemplate } from "../protocol/content.ts";
import { McpError, toFailure } from "../protocol/errors.ts";
import type { Cacheable, Result } from "../protocol/methods.ts";
import { checkOptionNames, type OptionNames, type OtherNames } from "../protocol/option-names.ts";
import { hasScopes } from "../protocol/scopes.ts";
import type { Call, Outcome } from "../protocol/service.ts";
import { toBase64 } from "../std/base64.ts";
import { defined } from "../std/defined.ts";
import type { TemplateVariables } from "../std/uri-template.ts";
import { type MatchedVariables, toMatcher } from "../std/uri-template-match.ts";
import { parseParts } from "../std/uri-template-syntax.ts";
import { checkAccess, forbidden, visibility } from "./access.ts";
import type { Accessible } from "./accessible.ts";
import { type Completers, complete } from "./completion.ts";
import { aContents, isBytes } from "./content.ts";
import { type Context, handlerJob } from "./context.ts";
import { badDefinition, describe, kit } from "./definition.ts";
import type { Environment } from "./environment.ts";

/**
 * What `read` may return: text, bytes, contents, or any other JSON value. Undefined means that there is no such
 * resource.
 */
export type ResourceReturn = unknown;

interface ResourceDescription extends Accessible {
  /** Default: the URI or template. */
  readonly name?: string | undefined;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly mimeType?: string | undefined;
  readonly icons?: readonly Icon[] | undefined;
  readonly annotations?: Annotations | undefined;
  readonly meta?: JsonObject | undefined;
  /** In bytes. Only for a resource, not for a template. */
  readonly size?: number | undefined;
  /**
   * How long a client may cache the resource, and whether users may share it. A result that depends on the caller
   * (`read` used `auth`, `client` or `http`, or there is `visible`, or `scopes`) is never shared. Default: that of the
   * server.
   */
  readonly cache?:
    | { readonly ttlMs?: number | undefined; readonly scope?: "public" | "private" | undefined }
    | undefined;
  /** Suggests values for variables of a template, by name. */
  readonly complete?: Completers | undefined;
  /** Resources of a template that are worth listing to the caller of `context`. */
  readonly list?: ((context: Context) => readonly Resource[] | Promise<readonly Resource[]>) | undefined;
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

const resourceOptions: OptionNames<Omit<ResourceDefinition, "uri">> = {
  name: true,
  title: true,
  description: true,
  mimeType: true,
  icons: true,
  annotations: true,
  meta: true,
  scopes: true,
  visible: true,
  size: true,
  cache: true,
  complete: true,
  list: true,
  read: true,
};

const otherNames: OtherNames = {
  handler: "read",
  get: "read",
  run: "read",
  ttl: "cache",
  ttlMs: "cache",
  cacheScope: "cache",
};

/**
 * Defines a resource by its URI, or many by a template: `resource("stock://{sku}", { read: ({ sku }) => … })`.
 * Throws `invalid-definition` for an option that does not exist.
 */
export function resource<const U extends string>(uri: U, options: ResourceOptions<U>): ResourceDefinition {
  checkOptionNames(`resource "${uri}"`, options, resourceOptions, otherNames);
  return { uri, ...options, [kit]: resourceKit } as ResourceDefinition;
}

/** A resource that is ready to be read. */
export interface ReadyResource {
  readonly definition: ResourceDefinition;
  readonly listed: Resource;
}

/** A template that is ready to be matched. */
export interface ReadyTemplate {
  readonly definition: ResourceDefinition;
  readonly listed: ResourceTemplate;
  readonly match: (uri: string) => MatchedVariables | undefined;
}

type Listed = Outcome<"resources/list">;
type Read = Outcome<"resources/read">;

/** What serving resources takes. */
interface ResourceKit {
  /** Checks a definition once, so that a bad one fails at start and names the resource. */
  readyResource(definition: ResourceDefinition): ReadyResource;
  readyTemplate(definition: ResourceDefinition): ReadyTemplate;
  /** Lists the resources of templates after the fixed ones, on the last page. */
  list(
    call: Call<"resources/list">,
    page: Result<"resources/list">,
    templates: readonly ReadyTemplate[],
    env: Environment,
  ): Listed | Promise<Listed>;
  /** Reads the resource that has the URI, else the first template that matches it. */
  read(
    call: Call<"resources/read">,
    exact: ReadyResource | undefined,
    templates: readonly ReadyTemplate[],
    env: Environment,
  ): Read | Promise<Read>;
  readonly complete: typeof complete;
}

const resourceKit: ResourceKit = {
  readyResource(definition) {
    const { uri, size } = definition;
    if (!URL.canParse(uri)) throw badDefinition(`resource ${uri}`, "it is not an absolute URI");
    return { definition, listed: Object.freeze({ uri, ...describeResource(definition), ...defined({ size }) }) };
  },
  readyTemplate(definition) {
    const { uri } = definition;
    const parsed = parseParts(uri);
    if (!parsed.ok) throw badDefinition(`resource ${uri}`, parsed.problem);
    const listed = Object.freeze({ uriTemplate: uri, ...describeResource(definition) });
    return { definition, match: toMatcher(parsed.value), listed };
  },
  list(call, page, templates, env) {
    const listOf = async ({ visible, list }: ResourceDefinition, context: Context): Promise<readonly Resource[]> => {
      if (list === undefined || (visible !== undefined && (await visible(context)) !== true)) return [];
      return list(context);
    };
    const hasPersonal = templates.some(({ definition }) => definition.visible !== undefined);
    const job = handlerJob<readonly (readonly Resource[])[]>(env, {
      method: "resources/list",
      run: (context) => Promise.all(templates.map(({ definition }) => listOf(definition, context))),
      finish: (lists, isPersonal) => ({
        kind: "complete",
        result: {
          ...page,
          ...((isPersonal || hasPersonal) && { cacheScope: "private" as const }),
          resources: [...page.resources, ...lists.flat()],
        },
      }),
    });
    return env.runner.runOnce(call, job) as Listed;
  },
  read(call, exact, templates, env) {
    const { uri } = call.params;
    if (exact !== undefined) return readFirst(call, [{ definition: exact.definition, variables: {} }], env);
    return readFirst(call, matchesOf(uri, templates), env);
  },
  complete,
};

/** Reads the first of these that the caller sees. */
function readFirst(call: Call<"resources/read">, matches: readonly Match[], env: Environment): Read | Promise<Read> {
  const [first, ...others] = matches;
  if (first === undefined) return { kind: "failed", failure: toFailure(notFound(call.params.uri)) };
  const { scopes, visible } = first.definition;
  const seen = (): Read | Promise<Read> =>
    scopes !== undefined && !hasScopes(call.peer.auth, scopes)
      ? forbidden(`resource ${call.params.uri}`, scopes)
      : readMatch(call, first, env);
  if (visible === undefined) return seen();
  const unseen = (): Read | Promise<Read> => readFirst(call, others, env);
  return visibility.load().then(({ ifVisible }) => ifVisible(call, visible, env, { seen, unseen }));
}

function readMatch(
  call: Call<"resources/read">,
  { definition, variables }: Match,
  env: Environment,
): Read | Promise<Read> {
  const { uri } = call.params;
  const { cache = {}, mimeType, visible, scopes } = definition;
  const { ttlMs = env.cache.ttlMs, scope = env.cache.cacheScope } = cache;
  const job = handlerJob(env, {
    method: "resources/read",
    name: uri,
    run: (context) => definition.read(variables, context),
    finish(value, isPersonal) {
      const result = toReadResult(value, uri, defined({ ttlMs, cacheScope: scope, mimeType }));
      if (result === undefined) throw notFound(uri);
      const isForSome = isPersonal || visible !== undefined || scopes !== undefined;
      return { kind: "complete", result: isForSome ? { ...result, cacheScope: "private" } : result };
    },
  });
  return env.runner.run(call, job) as Read | Promise<Read>;
}

interface Match {
  readonly definition: ResourceDefinition;
  readonly variables: MatchedVariables;
}

/** The templates that match, up to the first that every caller sees: earlier ones win over later ones. */
function matchesOf(uri: string, templates: readonly ReadyTemplate[]): readonly Match[] {
  const matches: Match[] = [];
  for (const { definition, match } of templates) {
    const variables = match(uri);
    if (variables === undefined) continue;
    matches.push({ definition, variables });
    if (definition.visible === undefined) break;
  }
  return matches;
}

function describeResource(definition: ResourceDefinition) {
  const { uri, name = uri, mimeType, annotations, read } = definition;
  const owner = `resource ${uri}`;
  if (typeof read !== "function") throw badDefinition(owner, "read must be a function");
  checkAccess(owner, definition);
  return { name, ...describe(owner, definition), ...defined({ mimeType, annotations }) };
}

type ReadSettings = Pick<Cacheable, "ttlMs" | "cacheScope"> & { readonly mimeType?: string };

/** The result for the value of `read`; undefined when that is undefined. Throws when it is malformed. */
function toReadResult(
  value: unknown,
  uri: string,
  { ttlMs, cacheScope, mimeType }: ReadSettings,
): Result<"resources/read"> | undefined {
  const parts = partsOf(value);
  if (parts.length === 0) return undefined;
  return {
    ...(ttlMs !== undefined && { ttlMs }),
    ...(cacheScope !== undefined && { cacheScope }),
    ...(isFull(value) && value),
    contents: parts.map(({ at, part }) => {
      const { problem, contents } = toContents(part, uri, mimeType);
      if (problem === undefined) return contents;
      throw new Error(`resource ${uri} returned malformed contents: result${at}${problem}`);
    }),
  };
}

interface Part {
  /** Where it is in what was returned. */
  readonly at: string;
  readonly part: unknown;
}

/** A single value may be JSON; one of several must be contents. */
function partsOf(value: unknown): readonly Part[] {
  if (value === undefined || value === null) return [];
  if (isFull(value)) return value.contents.map((part, index) => ({ at: `.contents[${index}]`, part: strict(part) }));
  const isList = Array.isArray(value) && value.some((part) => isBytes(part) || isPart(part));
  if (isList) return value.map((part, index) => ({ at: `[${index}]`, part: strict(part) }));
  return [{ at: "", part: value }];
}

function isFull(value: unknown): value is { readonly contents: readonly unknown[] } {
  return isObject(value) && Array.isArray(value.contents);
}

/** Marks a value that cannot be contents. */
const nothing: object = {};

function strict(part: unknown): unknown {
  return typeof part === "string" || isBytes(part) || isPart(part) ? part : nothing;
}

type Made =
  | { readonly problem: undefined; readonly contents: ResourceContents }
  | { readonly problem: string; readonly contents?: undefined };

function toContents(part: unknown, uri: string, mimeType: string | undefined): Made {
  if (part === nothing) return { problem: " must have text or blob" };
  if (isPart(part)) {
    return checked({ ...(mimeType !== undefined && { mimeType }), ...withBase64(part), uri: part.uri ?? uri });
  }
  return { problem: undefined, contents: plainContents(part, uri, mimeType) };
}

function checked(contents: ResourceContents & { readonly text?: unknown; readonly blob?: unknown }): Made {
  const { text, blob } = contents;
  const isBoth = text !== undefined && blob !== undefined;
  const problem: Problem = isBoth ? " must have text or blob, not both" : aContents(contents as unknown as Json);
  return problem === undefined ? { problem, contents } : { problem };
}

function plainContents(value: unknown, uri: string, mimeType: string | undefined): ResourceContents {
  if (typeof value === "string") return { uri, mimeType: mimeType ?? "text/plain", text: value };
  if (isBytes(value)) return { uri, mimeType: mimeType ?? "application/octet-stream", blob: toBase64(bytesOf(value)) };
  const text = JSON.stringify(value);
  if (text === undefined) throw new Error(`resource ${uri} is a ${typeof value}`);
  return { uri, mimeType: mimeType ?? "application/json", text };
}

function bytesOf(bytes: ArrayBuffer | ArrayBufferView): Uint8Array {
  if (bytes instanceof ArrayBuffer) return new Uint8Array(bytes);
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function withBase64(part: ResourceContents): ResourceContents {
  const { blob } = part as { readonly blob?: unknown };
  return isBytes(blob) ? { ...part, blob: toBase64(bytesOf(blob)) } : part;
}

const partMembers: ReadonlySet<string> = new Set(["uri", "mimeType", "text", "blob", "annotations", "_meta"]);

/** Contents have these members and no others: any other object is JSON that happens to have a text. */
function isPart(value: unknown): value is ResourceContents {
  if (!isObject(value) || (value.text === undefined && value.blob === undefined)) return false;
  return Object.keys(value).every((key) => partMembers.has(key));
}

export function notFound(uri: string): McpError {
  return new McpError("resource-not-found", `no resource ${uri}`, { data: { uri } });
}
