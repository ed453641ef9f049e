import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { McpError } from "../protocol/errors.ts";
import type { Context } from "../server/context.ts";
import { toBase64 } from "../std/base64.ts";
import { type Documents, followed, type Located, member, objectAt } from "./references.ts";

/** A way to show who calls, as the document describes it. */
export interface OpenApiSecurityScheme {
  /** Its name in the document. */
  readonly name: string;
  readonly type: "apiKey" | "http" | "oauth2" | "openIdConnect";
  /** Of an `apiKey`: where it goes. */
  readonly in?: "header" | "query" | "cookie";
  /** Of an `apiKey`: the name of the header, query parameter or cookie. */
  readonly parameterName?: string;
  /** Of `http`: `bearer`, `basic` or another one, in small letters. */
  readonly scheme?: string;
  /** What the operation needs. */
  readonly scopes: readonly string[];
}

/** A key or token, or what `basic` takes. */
export type OpenApiCredential = string | { readonly username: string; readonly password: string };

/** Gives the credential of a scheme for the caller of a tool. Undefined: there is none. */
export type OpenApiAuth = (
  scheme: OpenApiSecurityScheme,
  context: Context,
) => OpenApiCredential | undefined | Promise<OpenApiCredential | undefined>;

/** What shows who calls, in the parts of a request. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly cookies: readonly (readonly [name: string, value: string])[];
}

export const noCredentials: Credentials = { headers: {}, query: [], cookies: [] };

/** All schemes of a document by their names. Those that are not understood are left out. */
export function readSchemes(root: Located, documents: Documents): ReadonlyMap<string, OpenApiSecurityScheme> {
  const components = member(member(root, "components"), "securitySchemes");
  const names = isObject(components.value) ? Object.keys(components.value) : [];
  return new Map(
    names.flatMap((name) => {
      const scheme = readScheme(name, objectAt(followed(member(components, name), documents)));
      return scheme === undefined ? [] : [[name, scheme] as const];
    }),
  );
}

function readScheme(name: string, source: JsonObject): OpenApiSecurityScheme | undefined {
  const { type, in: place, name: parameterName, scheme } = source;
  if (type === "oauth2" || type === "openIdConnect") return { name, type, scopes: [] };
  if (type === "http" && typeof scheme === "string") return { name, type, scheme: scheme.toLowerCase(), scopes: [] };
  if (type !== "apiKey" || typeof parameterName !== "string" || !isKeyPlace(place)) return undefined;
  return { name, type, in: place, parameterName, scopes: [] };
}

function isKeyPlace(place: Json | undefined): place is "header" | "query" | "cookie" {
  return place === "header" || place === "query" || place === "cookie";
}

export interface CredentialsOptions {
  readonly security: readonly JsonObject[];
  readonly schemes: ReadonlyMap<string, OpenApiSecurityScheme>;
  readonly auth: OpenApiAuth | undefined;
  /** For messages. */
  readonly operation: string;
}

/**
 * Credentials for the first alternative of an operation that all are there for. Throws `unauthorized` when there is none,
 * unless the operation may be called without. Without `auth` nothing is asked for.
 */
export async function findCredentials(options: CredentialsOptions, context: Context): Promise<Credentials> {
  const { security, schemes, auth, operation } = options;
  if (auth === undefined || security.length === 0) return noCredentials;
  for (const alternative of security) {
    const wanted = Object.entries(alternative);
    const found = await Promise.all(
      wanted.map(([name, scopes]) => credentialOf(schemes.get(name), scopes, auth, context)),
    );
    if (wanted.length > 0 && found.every((one) => one !== undefined)) return joined(found);
  }
  if (security.some((alternative) => Object.keys(alternative).length === 0)) return noCredentials;
  const names = security.map((alternative) => Object.keys(alternative).join(" and ")).join(", or ");
  throw new McpError(
    "unauthorized",
    `${operation} needs a credential (${names}), and the option auth gave none for this caller`,
  );
}

async function credentialOf(
  scheme: OpenApiSecurityScheme | undefined,
  scopes: Json | undefined,
  auth: OpenApiAuth,
  context: Context,
): Promise<Credentials | undefined> {
  if (scheme === undefined) return undefined;
  const wanted = { ...scheme, scopes: Array.isArray(scopes) ? scopes.map(String) : [] };
  const credential = await auth(wanted, context);
  return credential === undefined ? undefined : placed(wanted, credential);
}

function placed(
  { name, type, in: place, parameterName = "", scheme = "bearer" }: OpenApiSecurityScheme,
  credential: OpenApiCredential,
): Credentials {
  const text = textOf(credential, name, type === "http" && scheme === "basic");
  if (/[^\t\x20-\x7e]/.test(text))
    throw new McpError("invalid-params", `the credential of ${name} has a character that cannot be sent`);
  if (type !== "apiKey")
    return { ...noCredentials, headers: { authorization: `${schemeNames[scheme] ?? scheme} ${text}` } };
  if (place === "query") return { ...noCredentials, query: [[parameterName, text]] };
  if (place === "cookie") return { ...noCredentials, cookies: [[parameterName, text]] };
  return { ...noCredentials, headers: { [parameterName.toLowerCase()]: text } };
}

const schemeNames: Readonly<Record<string, string>> = { bearer: "Bearer", basic: "Basic" };

function textOf(credential: OpenApiCredential, name: string, isBasic: boolean): string {
  if (typeof credential === "string") return credential;
  if (!isBasic)
    throw new McpError(
      "invalid-params",
      `the credential of ${name} must be a text: user name and password are for basic`,
    );
  return toBase64(new TextEncoder().encode(`${credential.username}:${credential.password}`));
}

function joined(all: readonly Credentials[]): Credentials {
  return {
    headers: Object.assign({}, ...all.map(({ headers }) => headers)),
    query: all.flatMap(({ query }) => query),
    cookies: all.flatMap(({ cookies }) => cookies),
  };
}
