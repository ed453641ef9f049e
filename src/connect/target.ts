import type { Channel } from "../jsonrpc/channel.ts";
import { McpError } from "../protocol/errors.ts";
import type { Service } from "../protocol/service.ts";
import { splitWords } from "../std/text.ts";
import type { Command } from "../transport/command.ts";
import type { HttpTransport } from "../transport/http/client/open-http.ts";

/** An entry of an `mcpServers` file: a program to start, a URL, an OpenAPI document, or a module. */
export type ConfigEntry = Command | UrlEntry | OpenApiEntry | ModuleEntry;

/** An API, by the OpenAPI document that describes it: its operations are tools, and it is called from this process. */
export interface OpenApiEntry {
  readonly type: "openapi";
  /** A URL, or the path of a file. */
  readonly document: string;
  /** Where requests go. Default: the server of the document, which must be public. */
  readonly baseUrl?: string | undefined;
  /** Operations to take, such as `list*`, `tag:pets` and `GET /pets*`. Default: all that are not deprecated. */
  readonly include?: readonly string[] | undefined;
  /** Operations to leave out. Default: none. */
  readonly exclude?: readonly string[] | undefined;
  /** Sent with every request to the API, such as `authorization`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** A module whose exported functions are tools. It is loaded into this process. */
export interface ModuleEntry {
  readonly type: "module";
  /** The path of a file. */
  readonly module: string;
}

export interface UrlEntry {
  readonly url: string;
  /**
   * `http` or `streamable-http` for a server that speaks nothing older, `sse`
   * for one that speaks HTTP+SSE of 2024-11-05. Default: it is found out.
   */
  readonly type?: string | undefined;
  /** Sent with every request, such as `authorization`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/**
 * Where a server is: in this process, behind a command, at a URL, at the end of a channel, or an entry of a
 * configuration file, which may be an OpenAPI document or a module. A text that is not a URL is a command line; quotes
 * keep words together, nothing is expanded, and no shell is involved.
 */
export type Target = Service | ConfigEntry | Channel | URL | string | readonly string[];

/** A target that was understood. */
export type ParsedTarget =
  | { readonly kind: "service"; readonly service: Service }
  | { readonly kind: "command"; readonly command: Command }
  | { readonly kind: "channel"; readonly channel: Channel }
  | { readonly kind: "openapi"; readonly entry: OpenApiEntry }
  | { readonly kind: "module"; readonly entry: ModuleEntry }
  | ParsedUrl;

export interface ParsedUrl {
  readonly kind: "url";
  readonly url: URL;
  readonly transport?: HttpTransport;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Parses a target. Throws `invalid-params` when it is not valid. */
export function readTarget(target: Target): ParsedTarget {
  if (typeof target === "function") return { kind: "service", service: target };
  if (target instanceof URL) return readUrl(target.href);
  if (typeof target === "string") return readText(target);
  if (typeof target !== "object" || target === null) throw bad(`${String(target)} is not a target; ${targets}`);
  if (isWords(target)) return readWords(target, "the command");
  if ("incoming" in target) return { kind: "channel", channel: target };
  if ("url" in target) return readUrlEntry(target);
  if ("document" in target) return { kind: "openapi", entry: readNamed(target, "document") };
  if ("module" in target) return { kind: "module", entry: readNamed(target, "module") };
  if (typeof target.command === "string" && target.command !== "") return { kind: "command", command: target };
  throw bad("a config entry needs a command, a url, a document or a module");
}

const targets = "give a URL, a command, a config entry, a channel or a server";

/** Describes a target in messages: without arguments and paths, which may contain secrets. */
export function describePlace(place: ParsedTarget | undefined): string {
  switch (place?.kind) {
    case "url":
      return place.url.origin;
    case "command":
      return `the program ${JSON.stringify(place.command.command)}`;
    case "openapi":
      return "the OpenAPI document";
    case "module":
      return `the module ${JSON.stringify(place.entry.module)}`;
    default:
      return "the server";
  }
}

/** True for what runs on this machine: programs to start, and servers in this process. */
export function isProgram(target: Target): boolean {
  const { kind } = readTarget(target);
  return kind === "command" || kind === "service" || kind === "module";
}

function readNamed<E extends OpenApiEntry | ModuleEntry>(entry: E, member: keyof E & string): E {
  if (typeof entry[member] === "string" && entry[member] !== "") return entry;
  throw bad(`the ${member} of a config entry must be a text that is not empty`);
}

function readText(text: string): ParsedTarget {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text) || addressOf(text) !== undefined) return readUrl(text);
  const words = splitWords(text);
  if (words === undefined) throw bad(`a quote is open in ${JSON.stringify(text)}`);
  return readWords(words, JSON.stringify(text));
}

function readUrlEntry({ url, type, headers }: UrlEntry): ParsedUrl {
  const transport = type === undefined ? undefined : transportOf(type);
  return { ...readUrl(url), ...(transport !== undefined && { transport }), ...(headers !== undefined && { headers }) };
}

/** Configuration files spell it in many ways. */
function transportOf(type: string): HttpTransport {
  const transport = transports[type.toLowerCase().replaceAll(/[^a-z]/g, "")];
  if (transport === undefined) throw bad(`${JSON.stringify(type)} is not a type of server at a URL`);
  return transport;
}

const transports: Readonly<Record<string, HttpTransport>> = {
  http: "streamable",
  https: "streamable",
  streamablehttp: "streamable",
  sse: "sse",
};

function readUrl(text: string): ParsedUrl {
  const address = addressOf(text);
  if (address !== undefined) throw bad(`"${address}" is not a URL; write "http://${address}" or "https://${address}"`);
  if (!URL.canParse(text)) throw bad(`${JSON.stringify(withoutSecrets(text))} is not a URL`);
  const url = new URL(text);
  if (!/^https?:$/.test(url.protocol)) throw bad(`nothing is known about ${url.protocol} URLs; use http: or https:`);
  if (url.username !== "" || url.password !== "") {
    throw bad("a URL must not have a user name or password; send an authorization header with the option headers");
  }
  return { kind: "url", url };
}

/** Host, port and path of a text that is a URL but for its scheme, such as `localhost:3000/mcp`. */
function addressOf(text: string): string | undefined {
  return /^[\w.-]+:\d{1,5}(?:\/[^\s?#]*)?(?=$|[?#])/.exec(text)?.[0];
}

/** A text that looks like a URL, without its credentials, query and fragment. */
function withoutSecrets(text: string): string {
  return text.replace(/\/\/[^/]*@/, "//").replace(/[?#].*/s, "");
}

function readWords([command, ...args]: readonly string[], what: string): ParsedTarget {
  if (command === undefined || command === "") throw bad(`${what} names no program`);
  return { kind: "command", command: { command, args } };
}

function isWords(target: object): target is readonly string[] {
  return Array.isArray(target);
}

function bad(problem: string): McpError {
  return new McpError("invalid-params", `cannot connect: ${problem}`);
}
