import { McpError } from "../protocol/errors.ts";
import { reachOfHost } from "../std/address-reach.ts";
import { type Documents, followed, type Located, member, members, objectAt } from "./references.ts";

export interface BaseUrlOptions {
  readonly baseUrl?: string | URL | undefined;
  readonly serverVariables?: Readonly<Record<string, string>> | undefined;
}

/** Where requests go, and whether the user said so. */
export interface BaseUrl {
  /** Without a slash at the end of its path. */
  readonly url: URL;
  /** Whether it was named by the user: it may be on any network, and http. */
  readonly isTrusted: boolean;
}

/**
 * The base of requests: `baseUrl`, else the first of the servers, with its variables put in, relative to where the
 * document is. A server of a document must be on the public network and https, unless the document came from there.
 * Throws `invalid-definition`.
 */
export function readBaseUrl(servers: Located, documents: Documents, options: BaseUrlOptions): BaseUrl {
  const { baseUrl, serverVariables = {} } = options;
  if (baseUrl !== undefined) return { url: checked(String(baseUrl), undefined, "the option baseUrl"), isTrusted: true };
  const [first] = members(servers);
  const place = servers.document.startsWith("http") ? servers.document : undefined;
  const server = first && followed(first[1], documents);
  const template = server === undefined ? "/" : String(objectAt(server).url ?? "/");
  if (server === undefined && place === undefined) throw needed("the OpenAPI document names no server");
  if (template.length > MAX_URL) throw needed("the OpenAPI document names a server whose URL is too long");
  const text = server === undefined ? template : withVariables(template, member(server, "variables"), serverVariables);
  if (!URL.canParse(text, place))
    throw needed(`the OpenAPI document names the server ${JSON.stringify(text.slice(0, 100))}, which is no URL`);
  const url = checked(text, place, "the server of the OpenAPI document");
  const isTrusted = place !== undefined && new URL(place).origin === url.origin;
  if (!isTrusted && (url.protocol !== "https:" || reachOfHost(url.hostname) !== "public")) {
    throw needed(`the OpenAPI document names the server ${url.origin}, which is not https on the public network`);
  }
  return { url, isTrusted };
}

const MAX_URL = 2_048;

function withVariables(template: string, variables: Located, given: Readonly<Record<string, string>>): string {
  return template.replaceAll(/\{([^{}]+)\}/g, (_, name: string) => {
    const { default: standard, enum: allowed } = objectAt(member(variables, name));
    const value = Object.hasOwn(given, name) ? given[name] : standard;
    if (typeof value !== "string" && typeof value !== "number") {
      throw new McpError("invalid-definition", `the server variable ${name} has no value; set it in serverVariables`);
    }
    if (Array.isArray(allowed) && !allowed.includes(value)) {
      throw new McpError("invalid-definition", `the server variable ${name} must be one of ${allowed.join(", ")}`);
    }
    return String(value);
  });
}

function checked(text: string, base: string | undefined, what: string): URL {
  if (!URL.canParse(text, base))
    throw new McpError("invalid-definition", `${what} is no URL; write https:// and the host`);
  const url = new URL(text, base);
  if (!/^https?:$/.test(url.protocol))
    throw new McpError("invalid-definition", `${what} is a ${url.protocol} URL; http: and https: can be asked`);
  if (url.username !== "" || url.password !== "") {
    throw new McpError(
      "invalid-definition",
      `${what} has a user name or password in it; use the option headers or auth`,
    );
  }
  url.hash = "";
  url.pathname = url.pathname.replace(/\/+$/, "");
  return url;
}

function needed(problem: string): McpError {
  return new McpError("invalid-definition", `${problem}; set baseUrl to say where requests go`);
}
