import type { AuthScheme } from "../../model/authenticator.ts";

/** What a challenge tells besides the ways to authenticate. */
export interface ChallengeFacts {
  /** The scheme that an error is about. */
  readonly scheme?: string | undefined;
  readonly error?: string | undefined;
  readonly description?: string | undefined;
  readonly scopes?: readonly string[] | undefined;
  /** Where the metadata of the server is. */
  readonly metadataUrl?: string | undefined;
}

/** Schemes that tell where tokens come from. */
const tokenSchemes: ReadonlySet<string> = new Set(["bearer", "dpop"]);

/** The value of `WWW-Authenticate`: one challenge for each way, in their order. */
export function challengeHeader(schemes: readonly AuthScheme[], facts: ChallengeFacts): string {
  const used = facts.scheme?.toLowerCase() ?? schemes[0]?.scheme.toLowerCase();
  const isOffered = schemes.some(({ scheme }) => scheme.toLowerCase() === used);
  const offered = isOffered || facts.scheme === undefined ? schemes : [...schemes, { scheme: facts.scheme }];
  return offered
    .map(({ scheme, parameters = {} }) => {
      const isToken = tokenSchemes.has(scheme.toLowerCase());
      const told = isToken ? tokenParameters(facts, scheme.toLowerCase() === used) : {};
      return [scheme, parametersText({ ...parameters, ...told })].filter((part) => part !== "").join(" ");
    })
    .join(", ");
}

function tokenParameters(facts: ChallengeFacts, isUsed: boolean): Readonly<Record<string, string | undefined>> {
  const { error, description, scopes = [], metadataUrl } = facts;
  return {
    resource_metadata: metadataUrl,
    scope: scopes.length === 0 ? undefined : scopes.join(" "),
    ...(isUsed && error !== undefined && { error, error_description: description }),
  };
}

function parametersText(parameters: Readonly<Record<string, string | undefined>>): string {
  return Object.entries(parameters)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}="${quotable(value)}"`]))
    .join(", ");
}

/** Text that can stand between quotes in a header: nothing that ends them, no line breaks, ASCII only. */
function quotable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, "?").replaceAll(/["\\]/g, "\\$&");
}
