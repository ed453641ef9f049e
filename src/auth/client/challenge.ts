/** One way to authorize that a server offers. Names of schemes and parameters are in lower case. */
interface Challenge {
  readonly scheme: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly token68?: string;
}

/** What a server says of the token that it wants. */
export interface TokenChallenge {
  readonly error?: string;
  /** Scopes, as one text. */
  readonly scope?: string;
  readonly resourceMetadata?: string;
}

/** No header that is of use is longer. */
const maxLength = 16_384;

/**
 * Reads the value of `WWW-Authenticate`, with any number of challenges in it
 * (RFC 9110, 11.6.1). Never throws: reading ends at what is no challenge. Of a
 * parameter that is there twice the first counts.
 */
export function parseChallenges(header: string): readonly Challenge[] {
  const text = header.slice(0, maxLength);
  const challenges: Challenge[] = [];
  for (let at = skip(separators, text, 0); at < text.length; ) {
    const read = readChallenge(text, at);
    if (read === undefined) break;
    challenges.push(read.challenge);
    at = skip(separators, text, read.end);
  }
  return challenges;
}

/** What a server says of tokens in its challenges. What is said of the preferred scheme counts most. */
export function tokenChallenge(header: string | undefined, preferred: "bearer" | "dpop" = "bearer"): TokenChallenge {
  const about = parseChallenges(header ?? "").filter(({ scheme }) => scheme === "bearer" || scheme === "dpop");
  const ordered = about.toSorted((a, b) => Number(b.scheme === preferred) - Number(a.scheme === preferred));
  const first = (name: string): string | undefined =>
    ordered.map(({ parameters }) => parameters.get(name)).find((value) => value !== undefined);
  const [error, scope, resourceMetadata] = [first("error"), first("scope"), first("resource_metadata")];
  return {
    ...(error !== undefined && { error }),
    ...(scope !== undefined && { scope }),
    ...(resourceMetadata !== undefined && { resourceMetadata }),
  };
}

const separators = /[\t ,]*/y;
const spaces = /[\t ]*/y;
const schemePattern = /[!#$%&'*+.^_`|~\w-]+(?=[\t ,]|$)/y;
const token68Pattern = /[A-Za-z0-9\-._~+/]+=*(?=[\t ]*(?:,|$))/y;
const namePattern = /([!#$%&'*+.^_`|~\w-]+)[\t ]*=[\t ]*/y;
const tokenPattern = /[!#$%&'*+.^_`|~\w-]+/y;
const quotedPattern = /"((?:[^"\\]|\\.)*)"/sy;

interface ReadChallenge {
  readonly challenge: Challenge;
  readonly end: number;
}

function readChallenge(text: string, start: number): ReadChallenge | undefined {
  const scheme = match(schemePattern, text, start)?.[0];
  if (scheme === undefined) return undefined;
  const after = start + scheme.length;
  const at = skip(spaces, text, after);
  const token68 = at === after ? undefined : match(token68Pattern, text, at)?.[0];
  const name = scheme.toLowerCase();
  if (token68 !== undefined) {
    return { challenge: { scheme: name, parameters: new Map(), token68 }, end: at + token68.length };
  }
  const { parameters, end } = readParameters(text, at);
  return { challenge: { scheme: name, parameters }, end };
}

/** Reads parameters until something else follows, such as the next challenge. */
function readParameters(text: string, start: number): { parameters: ReadonlyMap<string, string>; end: number } {
  const parameters = new Map<string, string>();
  let end = start;
  for (let at = skip(separators, text, start); at < text.length; at = skip(separators, text, end)) {
    const [before, name] = match(namePattern, text, at) ?? [];
    if (before === undefined || name === undefined) break;
    const value = readValue(text, at + before.length);
    if (value === undefined) break;
    end = value.end;
    const key = name.toLowerCase();
    if (!parameters.has(key)) parameters.set(key, value.text);
  }
  return { parameters, end };
}

function readValue(text: string, at: number): { text: string; end: number } | undefined {
  const [quoted, inner] = match(quotedPattern, text, at) ?? [];
  if (quoted !== undefined && inner !== undefined) {
    return { text: inner.replaceAll(/\\(.)/gs, "$1"), end: at + quoted.length };
  }
  const token = match(tokenPattern, text, at)?.[0];
  return token === undefined ? undefined : { text: token, end: at + token.length };
}

function match(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function skip(pattern: RegExp, text: string, at: number): number {
  return at + (match(pattern, text, at)?.[0].length ?? 0);
}

/** The scopes in a text, each once. */
export function readScopes(text: string | undefined): readonly string[] {
  return [...new Set((text ?? "").split(" ").filter((scope) => scope !== ""))];
}

/** All scopes of several lists, each once, in their order. */
export function union(...lists: readonly (readonly string[])[]): readonly string[] {
  return [...new Set(lists.flat())];
}

/** Whether a list has all of the others. */
export function includesAll(scopes: readonly string[], others: readonly string[]): boolean {
  return others.every((scope) => scopes.includes(scope));
}

/** What is known when scopes are chosen. */
interface ScopeFacts {
  /** What the server asked for when it refused a request. It decides. */
  readonly challenged: string | undefined;
  /** What the user wants, in place of everything the server knows. */
  readonly wanted: readonly string[] | undefined;
  readonly supported: readonly string[] | undefined;
}

/** The scopes to ask for at first: of the challenge, else of the user, else all that the server knows, else none. */
export function firstScopes({ challenged, wanted, supported }: ScopeFacts): readonly string[] {
  if (challenged !== undefined) return union(wanted ?? [], readScopes(challenged));
  return wanted ?? supported ?? [];
}

const offline = "offline_access";

/**
 * The scopes as an authorization server should be asked for them: so that there
 * is a refresh token, where it says it has them. Who asks for nothing in
 * particular asks for no less than the default.
 */
export function withOfflineAccess(scopes: readonly string[], listed: readonly string[] | undefined): readonly string[] {
  const others = scopes.filter((scope) => scope !== offline);
  return others.length > 0 && listed?.includes(offline) ? [...others, offline] : others;
}
