import {
  type AuthorizationServer,
  allowInsecureRequests,
  type ClientAuth,
  customFetch,
  type IntrospectionResponse,
  introspectionRequest,
  processIntrospectionResponse,
} from "oauth4webapi";
import type { JsonObject } from "../../json/json.ts";
import type { Authenticator } from "../../protocol/authenticator.ts";
import { McpError } from "../../protocol/errors.ts";
import { checkOptionNames, type OptionNames } from "../../protocol/option-names.ts";
import { isRequestBound } from "../../std/clock.ts";
import { defined } from "../../std/defined.ts";
import type { HttpRequestInfo } from "../../std/http-request-info.ts";
import { networkOf } from "../../std/network-of.ts";
import { nameOf } from "../client/dpop.ts";
import { clientAuthOf } from "../client/token-request.ts";
import type { Hop, SafeFetch } from "../safe-fetch.ts";
import { together } from "./authorization.ts";
import { type CheckedAuth, type ClaimsSchema, scopesOf } from "./claims.ts";
import { createRecent } from "./dpop.ts";
import { createFairGate } from "./fair-gate.ts";
import { defaultPrincipal } from "./jwt.ts";
import { fetchFor, fetchIssuer, urlIn } from "./keys.ts";
import { limitReached } from "./limits.ts";
import { type Time, type TokenAuthOptions, tokenAuthenticator, tokenOptionNames, type Verified } from "./tokens.ts";

export interface IntrospectionOptions<S extends ClaimsSchema = undefined> extends TokenAuthOptions<S> {
  /** The issuer of the tokens; its metadata contains the endpoint. This or `endpoint` is required. */
  readonly issuer?: string | undefined;
  /** Where to ask. */
  readonly endpoint?: string | undefined;
  /** The credentials of this server at the issuer. */
  readonly clientId: string;
  readonly clientSecret: string;
  /**
   * The audience of the tokens: this server. `"any"` leaves the check to the issuer, which must then know the caller.
   */
  readonly audience: string | readonly string[] | "any";
  /** How long an answer may be used again, so that a revoked token still works. Default 30 s; 0 is off. */
  readonly cacheTtlMs?: number | undefined;
  /**
   * How many questions about tokens may be open at a time; those about one token are one question. As many more wait, and
   * addresses have their turns one after the other. Further requests of the address with most of them get 503 with
   * `Retry-After`. Default 64; 0 is off. Not counted on platforms that end what a request began together with it.
   */
  readonly maxInFlight?: number | undefined;
  /** How far clocks may differ. Default 60 s. */
  readonly clockToleranceMs?: number | undefined;
  /** Whether the issuer may name hosts on a private network, besides those named here. Default false. */
  readonly allowPrivateNetwork?: boolean | undefined;
  /**
   * The principal of a token. Default: `<issuer>#<sub>`, and `client:<issuer>#<client_id>` for a client that acts for
   * itself.
   */
  readonly toPrincipal?: ((claims: JsonObject) => string | undefined) | undefined;
}

const optionNames: OptionNames<IntrospectionOptions> = {
  ...tokenOptionNames,
  issuer: true,
  endpoint: true,
  clientId: true,
  clientSecret: true,
  audience: true,
  cacheTtlMs: true,
  maxInFlight: true,
  clockToleranceMs: true,
  allowPrivateNetwork: true,
  toPrincipal: true,
};

/**
 * Takes tokens of any form and asks their issuer about each (RFC 7662). What it
 * says is used again for a short while.
 *
 * @example
 * serveHttp(shop, { auth: introspection({ issuer, clientId: "shop", clientSecret, audience: "https://shop.example.com/mcp" }) });
 */
export function introspection<const S extends ClaimsSchema = undefined>(
  options: IntrospectionOptions<S>,
): Authenticator<CheckedAuth<S>> {
  return createIntrospection(options, { fetch: introspectionFetch(options), now: Date.now });
}

/** How the issuer is asked, for its metadata and about tokens. */
export function introspectionFetch(options: IntrospectionOptions<ClaimsSchema>, hop?: Hop): SafeFetch {
  const { issuer, endpoint, allowPrivateNetwork } = options;
  return fetchFor([issuer, endpoint], { allowPrivateNetwork, hop });
}

/** Answers about good tokens that are kept, and about others. */
const [MAX_KEPT, MAX_REFUSED] = [10_000, 1_000];

export function createIntrospection<S extends ClaimsSchema = undefined>(
  options: IntrospectionOptions<S>,
  means: Time & { readonly fetch: SafeFetch },
): Authenticator<CheckedAuth<S>> {
  checkOptionNames("introspection", options, optionNames, { scopes: "requiredScopes" });
  const { issuer, cacheTtlMs = 30_000, maxInFlight = 64 } = options;
  const { now } = means;
  if (typeof maxInFlight !== "number" || !(maxInFlight >= 0)) throw bad("maxInFlight must be 0 or more; 0 is off");
  const ask = createAsking(options, means.fetch);
  const taken = createRecent<IntrospectionResponse>({ max: MAX_KEPT, now });
  // A separate cache, so that invalid tokens do not displace valid ones.
  const refused = createRecent<IntrospectionResponse>({ max: MAX_REFUSED, now });
  const inFlight = new Map<string, Promise<IntrospectionResponse>>();
  // Somebody who sends made-up tokens takes no place that another address wants.
  const gate =
    maxInFlight > 0
      ? createFairGate({ maxRunning: maxInFlight, maxWaiting: maxInFlight, full: () => tooMany(maxInFlight) })
      : undefined;

  const askAnew = async (name: string, token: string): Promise<IntrospectionResponse> => {
    const response = await ask(token);
    if (cacheTtlMs > 0) (response.active === true ? taken : refused).set(name, response, cacheTtlMs);
    return response;
  };

  /** Those who come with the same token while the answer is on its way wait for it, too. */
  const askOnce = async (token: string, remote: string): Promise<IntrospectionResponse> => {
    const name = await nameOf(token);
    const known = taken.get(name) ?? refused.get(name);
    if (known !== undefined) return known;
    // Nobody may wait for the promise of another request, and one that ends would never leave the table.
    if (isRequestBound) return askAnew(name, token);
    const asking = inFlight.get(name);
    if (asking !== undefined) return asking;
    const ask = (): Promise<IntrospectionResponse> => askAnew(name, token);
    const asked = (gate?.run(networkOf(remote), ask) ?? ask()).finally(() => inFlight.delete(name));
    inFlight.set(name, asked);
    return asked;
  };

  const verify = async (token: string, { remoteAddress = "" }: HttpRequestInfo): Promise<Verified> =>
    judge(await askOnce(token, remoteAddress), options, now() / 1_000);
  const issuers = issuer !== undefined && { authorization_servers: [issuer] };
  const metadata = { ...issuers, ...defined(options.metadata ?? {}) };
  const tellsMore = issuer !== undefined || options.metadata !== undefined;
  return tokenAuthenticator({ name: "introspection", verify, now }, tellsMore ? { ...options, metadata } : options);
}

interface Issuer {
  readonly as: AuthorizationServer;
  readonly auth: ClientAuth;
}

/** Puts a question about a token. Rejects when there is no answer. */
function createAsking(
  options: IntrospectionOptions<ClaimsSchema>,
  fetch: SafeFetch,
): (token: string) => Promise<IntrospectionResponse> {
  const { issuer, endpoint, clientId, clientSecret } = options;
  if (endpoint === undefined && issuer === undefined) throw bad("issuer or endpoint is needed");
  if ([endpoint, issuer].some((url) => url !== undefined && !URL.canParse(url)))
    throw bad("issuer and endpoint are URLs");
  const client = { client_id: clientId };
  let known: Issuer | undefined;

  const find = together(async (): Promise<Issuer> => {
    const found = issuer === undefined || endpoint !== undefined ? {} : await fetchIssuer(issuer, fetch);
    const place = endpoint ?? urlIn(found, "introspection_endpoint", new URL(issuer ?? "").origin);
    const { introspection_endpoint_auth_methods_supported: listed } = found;
    const methods = Array.isArray(listed) ? listed.map(String) : ["client_secret_basic"];
    const as: AuthorizationServer = {
      issuer: issuer ?? place,
      introspection_endpoint: place,
      token_endpoint_auth_methods_supported: methods,
    };
    known = { as, auth: await clientAuthOf({ clientId, clientSecret }, as) };
    return known;
  });

  return async (token) => {
    const { as, auth } = known ?? (await find());
    const response = await introspectionRequest(as, client, auth, token, {
      // Whether a URL may be asked is decided by what fetches it.
      [allowInsecureRequests]: true,
      [customFetch]: (url, { headers, body }) => fetch(url, { method: "POST", headers, body: String(body) }),
      additionalParameters: { token_type_hint: "access_token" },
    });
    if (!response.ok) throw unclear(as, `answered ${response.status} when asked about a token`);
    try {
      return await processIntrospectionResponse(as, client, response);
    } catch {
      // The parser's message would contain parts of the text, so it is dropped.
      throw unclear(as, "does not say whether a token is active");
    }
  };
}

function judge(response: IntrospectionResponse, options: IntrospectionOptions<ClaimsSchema>, nowS: number): Verified {
  const {
    issuer,
    endpoint,
    audience,
    clockToleranceMs = 60_000,
    // An endpoint that names no issuer beforehand may name any: it stands for itself.
    toPrincipal: principalOf = (claims) => defaultPrincipal({ ...claims, iss: issuer ?? endpoint }),
  } = options;
  const { active, exp, nbf, iss = issuer ?? endpoint, aud = [], ...rest } = response;
  if (active !== true) return no("the token is not active");
  if (exp !== undefined && exp + clockToleranceMs / 1_000 <= nowS) return no("the token has expired");
  if (nbf !== undefined && nbf - clockToleranceMs / 1_000 > nowS) return no("the token is not valid yet");
  if (issuer !== undefined && iss !== issuer) return no("the token is of another issuer");
  const wanted = [audience].flat();
  if (audience !== "any" && ![aud].flat().some((one) => wanted.includes(one)))
    return no("the token is not for this server");
  const claims = {
    ...rest,
    iss,
    aud,
    ...(exp !== undefined && { exp }),
    ...(nbf !== undefined && { nbf }),
  } as JsonObject;
  const principal = principalOf(claims);
  if (principal === undefined || principal === "") return no("the token does not say whose it is");
  return { ok: true, auth: { principal, scopes: scopesOf(claims), claims } };
}

function no(description: string): Verified {
  return { ok: false, description };
}

function bad(problem: string): McpError {
  return new McpError("invalid-definition", `introspection: ${problem}`);
}

function tooMany(max: number): McpError {
  return limitReached("too many introspections are open", {
    limit: "maxInFlight",
    max,
    scope: "process",
    retryAfterMs: 1_000,
  });
}

function unclear({ issuer }: AuthorizationServer, problem: string): McpError {
  return new McpError("http-error", `${new URL(issuer).origin} ${problem}`);
}
