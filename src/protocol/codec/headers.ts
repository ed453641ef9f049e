import type { JsonObject } from "../../json/json.ts";
import { encodeHeaderValue, isHeaderFor, trimHeaderValue } from "../../std/header-value.ts";
import { quote } from "../../std/text.ts";
import { methodRow } from "../methods.ts";

/** What the headers of a request repeat. */
interface Request {
  readonly method: string;
  readonly params?: JsonObject | undefined;
}

/**
 * The headers in which a client repeats what it calls: `mcp-method`, and
 * `mcp-name` where the method has a parameter for it that is a string.
 */
export function standardHeaders(method: string, params: JsonObject | undefined): Readonly<Record<string, string>> {
  const name = calledName(method, params);
  const repeated = { "mcp-method": encodeHeaderValue(method) };
  return name === undefined ? repeated : { ...repeated, "mcp-name": encodeHeaderValue(name) };
}

/**
 * The reason why the headers of a request do not match its body, or undefined: a header is missing, has invalid
 * characters, or has a different value.
 *
 * `version` is the revision that the body states in `_meta`. Where the body states none, or has no name, the comparison
 * is skipped and the check of the body decides. Allocates nothing when the headers match.
 */
export function headerProblem(request: Request, version: string | undefined, head: Head): string | undefined {
  const { method, params } = request;
  return (
    versionProblem(version, head.header("mcp-protocol-version")) ??
    methodProblem(method, head.header("mcp-method")) ??
    nameProblem(calledName(method, params), head)
  );
}

/** What has headers, by their names in lower case. */
interface Head {
  header(name: string): string | undefined;
}

function versionProblem(version: string | undefined, value: string | undefined): string | undefined {
  if (value === undefined) return missing("MCP-Protocol-Version");
  if (version === undefined || trimHeaderValue(value) === version) return undefined;
  return different("MCP-Protocol-Version", value, version);
}

function methodProblem(method: string, value: string | undefined): string | undefined {
  if (value === undefined) return missing("Mcp-Method");
  return trimHeaderValue(value) === method ? undefined : different("Mcp-Method", value, method);
}

function nameProblem(name: string | undefined, head: Head): string | undefined {
  if (name === undefined) return undefined;
  const value = head.header("mcp-name");
  if (value === undefined) return missing("Mcp-Name");
  return isHeaderFor(name, value) ? undefined : different("Mcp-Name", value, name);
}

/** What a request calls by name, where its method has a parameter for that and it is a string. */
export function calledName(method: string, params: JsonObject | undefined): string | undefined {
  const { nameParam } = methodRow(method);
  const name = nameParam === undefined ? undefined : params?.[nameParam];
  return typeof name === "string" ? name : undefined;
}

function missing(header: string): string {
  return `the ${header} header is missing`;
}

function different(header: string, value: string, text: string): string {
  return `the ${header} header is ${quote(value)}, the body says ${quote(text)}`;
}
