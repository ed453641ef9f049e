import { createSafeFetch, type Hop } from "../auth/safe-fetch.ts";
import type { Json } from "../json/json.ts";
import { McpError } from "../protocol/errors.ts";
import { checkOptionNames, type OptionNames } from "../protocol/option-names.ts";
import type { ServerOptions } from "../server/options.ts";
import { createServer, type Server } from "../server/server.ts";
import { reachOfHost } from "../std/address-reach.ts";
import { defined } from "../std/defined.ts";
import { type BaseUrl, type BaseUrlOptions, readBaseUrl } from "./base-url.ts";
import type { ApiAccess } from "./call-operation.ts";
import { chooseOperations, type OperationChoice } from "./choose-operations.ts";
import { type OpenApiAuth, readSchemes } from "./credentials.ts";
import { loadDocuments, type ReadDocument } from "./load-documents.ts";
import { findOperations } from "./operation.ts";
import { nameOperations } from "./operation-names.ts";
import { parseDocument, readHead } from "./parse-document.ts";
import { type Documents, type Located, member, OperationProblem, objectAt } from "./references.ts";
import { serveOperations } from "./serve-operations.ts";

export interface OpenApiOptions extends OperationChoice, BaseUrlOptions {
  /** The name of the server. Default: the title of the document, in small letters with dashes. */
  readonly name?: string | undefined;
  /** Default: that of the document. */
  readonly version?: string | undefined;
  /** Tells the model how to use the server. Default: the description of the document, at most 2,000 characters of it. */
  readonly instructions?: string | undefined;
  /** Where requests go. It may be http and on any network. Default: the first of the document's servers, which must be public. */
  readonly baseUrl?: string | URL | undefined;
  /** Values of variables in the URL of the document's server. Default: those of the document. */
  readonly serverVariables?: Readonly<Record<string, string>> | undefined;
  /** Gives credentials for the security schemes of the document, for the caller in `context.auth`. Default: none are sent. */
  readonly auth?: OpenApiAuth | undefined;
  /** Sent with every request to the origin of the base URL, such as `authorization`. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** True also offers GET operations that need no arguments as resources. Default false. */
  readonly resources?: boolean | undefined;
  /**
   * True loads what references to other documents lead to: public https URLs, and files in the folder of a document that is
   * a file. Default false: such a reference is an error.
   */
  readonly allowRemoteReferences?: boolean | undefined;
  /** True sends credentials also to an http URL of another machine, where everybody on the way can read them. Default false. */
  readonly allowInsecureHttp?: boolean | undefined;
  /** How long one request may take. Default 30,000; 0 is off. */
  readonly timeoutMs?: number | undefined;
  /** Bytes of one response. Default 4 MiB; 0 is off. */
  readonly maxResponseBytes?: number | undefined;
  /** Bytes of the document in JSON, with all that it refers to; of YAML a quarter of it. Default 8 MiB; 0 is off. */
  readonly maxDocumentBytes?: number | undefined;
  /** Hears of operations that are left out because they cannot be used, and of patterns that are not checked. Default: `console.warn`. */
  readonly onWarning?: ((message: string) => void) | undefined;
  /** More options of `createServer`. Default: none. */
  readonly server?: Omit<ServerOptions, "name" | "version" | "instructions" | "tools" | "resources"> | undefined;
}

const optionNames: OptionNames<OpenApiOptions> = {
  name: true,
  version: true,
  instructions: true,
  baseUrl: true,
  serverVariables: true,
  include: true,
  exclude: true,
  auth: true,
  headers: true,
  resources: true,
  allowRemoteReferences: true,
  allowInsecureHttp: true,
  timeoutMs: true,
  maxResponseBytes: true,
  maxDocumentBytes: true,
  onWarning: true,
  server: true,
};

/** What a platform has to offer. */
export interface OpenApiPlatform {
  readonly hop: Hop;
  /** Finds out where a document is that is not given as text: a URI. Undefined for a text. */
  locate(document: string | URL): string | undefined;
  /** Reads a file. */
  readFile(uri: string, root: string, maxBytes: number): Promise<string>;
}

/** Makes a server of an OpenAPI document. See `openApi`. */
export async function createOpenApi(
  document: string | URL | object,
  options: OpenApiOptions,
  platform: OpenApiPlatform,
): Promise<Server> {
  try {
    return await create(document, options, platform);
  } catch (error) {
    // A part that is not of one operation, such as a security scheme.
    if (error instanceof OperationProblem)
      throw new McpError("invalid-definition", `the OpenAPI document: ${error.message}`);
    throw error;
  }
}

async function create(
  document: string | URL | object,
  options: OpenApiOptions,
  platform: OpenApiPlatform,
): Promise<Server> {
  checkOptionNames("openApi", options, optionNames, { filter: "include", operations: "include", url: "baseUrl" });
  const limits = readLimits(options);
  const loaded = await load(document, options, limits.maxDocumentBytes, platform);
  const { root, documents, isOld } = loaded;
  const base = readBaseUrl(member(root, "servers"), documents, options);
  const warn = options.onWarning ?? ((message: string) => console.warn(`openApi: ${message}`));
  const found = findOperations(root, documents, warn);
  const choice = chooseOperations(found, options);
  if (choice.length > MAX_OPERATIONS) throw tooMany(choice.length);
  const chosen = nameOperations(choice);
  const access = accessTo(base, { ...loaded, options, platform, ...limits });
  const info = objectAt(member(root, "info"));
  const name = options.name ?? nameOf(info.title);
  const { tools, resources } = await serveOperations(chosen, {
    ...{ documents, isOld, access, name, warn },
    baseOf: (servers) => (servers.at === "/servers" ? base : readBaseUrl(servers, documents, options)).url,
    timeoutMs: Number.isFinite(limits.timeoutMs) ? limits.timeoutMs + AUTH_MS : 0,
    hasResources: options.resources === true,
  });
  if (Object.keys(tools).length === 0) {
    throw new McpError(
      "invalid-definition",
      `the OpenAPI document has no operation that can be used, of ${found.length}`,
    );
  }
  return createServer({
    ...options.server,
    name,
    version: options.version ?? (typeof info.version === "string" && info.version !== "" ? info.version : "1.0.0"),
    ...defined({ instructions: options.instructions ?? instructionsOf(info.description) }),
    tools,
    resources,
  });
}

/** More tools help no model, and take long to make. */
const MAX_OPERATIONS = 2_000;

function tooMany(count: number): McpError {
  const problem = `the OpenAPI document has ${count} operations to take, and ${MAX_OPERATIONS} is the limit`;
  return new McpError("invalid-definition", `${problem}: choose some with include or exclude`);
}

/** What a tool may take besides its request: `auth` may have to ask somebody. */
const AUTH_MS = 30_000;

interface Limits {
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
  readonly maxDocumentBytes: number;
}

function readLimits({
  timeoutMs = 30_000,
  maxResponseBytes = 4 << 20,
  maxDocumentBytes = 8 << 20,
}: OpenApiOptions): Limits {
  const entries = Object.entries({ timeoutMs, maxResponseBytes, maxDocumentBytes }).map(([name, limit]) => {
    if (typeof limit === "number" && limit >= 0) return [name, limit === 0 ? Number.POSITIVE_INFINITY : limit];
    throw new McpError("invalid-definition", `${name} of openApi must be 0 or more; 0 is off`, {
      data: { member: name },
    });
  });
  return Object.fromEntries(entries) as Limits;
}

interface Loaded {
  readonly root: Located;
  readonly documents: Documents;
  readonly isOld: boolean;
}

async function load(
  document: string | URL | object,
  { allowRemoteReferences = false }: OpenApiOptions,
  maxBytes: number,
  platform: OpenApiPlatform,
): Promise<Loaded> {
  const isText = typeof document === "string" || document instanceof URL;
  const uri = isText ? (platform.locate(document) ?? "") : "";
  const read = reader(uri, maxBytes, platform);
  const place = uri === "" ? "" : uri.replace(/[?#].*$/s, "");
  const value = isText
    ? await parseDocument(uri === "" ? String(document) : await read(uri), place, maxBytes)
    : asJson(document);
  const { root, isOld } = readHead(value, place);
  const documents = await loadDocuments({ uri, value: root }, { read, maxBytes, follows: allowRemoteReferences });
  return { root: { value: root, document: uri, at: "" }, documents, isOld };
}

/** An object as the JSON that it would be. */
function asJson(document: object): Json {
  try {
    return JSON.parse(JSON.stringify(document)) as Json;
  } catch {
    throw new McpError("invalid-definition", "the OpenAPI document is an object that cannot be JSON");
  }
}

/** Reads documents: the first one wherever it is, others from public URLs, and files where the first one is a file. */
function reader(root: string, maxBytes: number, { hop, readFile }: OpenApiPlatform): ReadDocument {
  const isUrl = /^https?:/.test(root);
  const trustedOrigins = isUrl ? [new URL(root).origin] : [];
  const fetch = createSafeFetch({ ...{ hop, maxBytes, trustedOrigins }, accepts: "any", allowInsecureLoopback: false });
  return async (uri) => {
    if (uri.startsWith("file:") && !isUrl && root !== "") return readFile(uri, root, maxBytes);
    if (!/^https?:/.test(uri))
      throw new McpError(
        "invalid-definition",
        `the OpenAPI document refers to ${uri.slice(0, 100)}, which is not read`,
      );
    const response = await fetch(uri, { headers: { accept: "application/json, application/yaml, */*" } });
    if (response.ok) return response.text();
    throw new McpError(
      "http-error",
      `the OpenAPI document at ${new URL(uri).origin} cannot be read: HTTP ${response.status}`,
      {
        data: { status: response.status },
      },
    );
  };
}

interface AccessOptions extends Loaded, Limits {
  readonly options: OpenApiOptions;
  readonly platform: OpenApiPlatform;
}

function accessTo(
  base: BaseUrl,
  { root, documents, options, platform, timeoutMs, maxResponseBytes }: AccessOptions,
): ApiAccess {
  const { auth, headers = {}, allowInsecureHttp = false, server } = options;
  const { protocol, hostname, origin } = base.url;
  const isOpen = protocol === "http:" && reachOfHost(hostname) !== "loopback";
  if (isOpen && !allowInsecureHttp && (auth !== undefined || Object.keys(headers).length > 0)) {
    const remedy = "use https, or set allowInsecureHttp";
    throw new McpError(
      "invalid-definition",
      `openApi would send credentials to ${origin}, where others can read them: ${remedy}`,
    );
  }
  const fetch = createSafeFetch({
    ...{ hop: platform.hop, accepts: "any", allowInsecureLoopback: false, maxBytes: maxResponseBytes },
    trustedOrigins: base.isTrusted ? [origin] : [],
    timeoutMs: Math.min(timeoutMs, MAX_TIMER_MS),
    ...defined({ clock: server?.clock }),
  });
  const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return { fetch, headers: Object.fromEntries(lower), auth, schemes: readSchemes(root, documents), origin };
}

/** Timers take no longer times. */
const MAX_TIMER_MS = 2 ** 31 - 1;

function nameOf(title: Json | undefined): string {
  const name = String(title ?? "")
    .slice(0, 200)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 64);
  return name === "" ? "openapi" : name;
}

function instructionsOf(description: Json | undefined): string | undefined {
  return typeof description === "string" && description.trim() !== "" ? description.trim().slice(0, 2_000) : undefined;
}
