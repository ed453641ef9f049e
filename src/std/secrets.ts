import { isSecretOption } from "./secret-names.ts";

/** What stands where a secret was. */
export const hidden = "***";

/** Makes a text that may be shown of one that may not. */
export type Mask = (text: string) => string;

/** A text that may be shown: without what looks like a secret, and without the parts of URLs that may have one. */
export function maskText(text: string, hide: Mask = asHidden): string {
  return text
    .replaceAll(urlPattern, (url) => maskUrl(url, hide))
    .replaceAll(credential, (found) => hide(found))
    .replaceAll(word, (found) => maskWord(found, hide));
}

/** A URL that may be shown: names of parameters stay, their values do not. */
export function maskUrl(url: string, hide: Mask = asHidden): string {
  const [, start = "", rest = url] = /^([a-z][a-z\d+.-]*:\/\/)?(.*)$/is.exec(url) ?? [];
  const [place = "", query] = rest.split(/[?#](.*)/s);
  const [authority = "", path = ""] = place.split(/(?=\/)(.*)/s);
  const at = authority.lastIndexOf("@");
  const host = at < 0 ? authority : `${hide(authority.slice(0, at))}@${authority.slice(at + 1)}`;
  const shown = `${start}${host}${path.replaceAll(word, (found) => maskWord(found, hide))}`;
  if (query === undefined) return shown;
  return `${shown}?${query
    .split("&")
    .map((parameter) => maskParameter(parameter, hide))
    .join("&")}`;
}

/** Arguments that may be shown: without the values of flags that name a secret, and of headers. */
export function maskArgs(args: readonly string[], hide: Mask = asHidden): readonly string[] {
  return args.map((arg, index) => {
    const flag = args[index - 1] ?? "";
    if (headerFlag.test(flag)) return maskHeader(arg, hide);
    if (isFlag(flag) && !flag.includes("=") && isSecretOption(flag)) return hide(arg);
    const [, name, value] = /^([^=\s:/?]+)=(.*)$/s.exec(arg) ?? [];
    if (name === undefined || value === undefined) return maskHeader(maskText(arg, hide), hide);
    return `${name}=${isSecretOption(name) ? hide(value) : maskHeader(maskText(value, hide), hide)}`;
  });
}

/** What {@link maskArgs} hides of arguments, and the parts of it that may be told on their own. */
export function secretsInArgs(args: readonly string[]): readonly string[] {
  const found: string[] = [];
  maskArgs(args, (secret) => {
    found.push(secret, ...partsOf(secret));
    return hidden;
  });
  return found;
}

/** `user:password`, and `Bearer token`. */
function partsOf(secret: string): readonly string[] {
  return [/^[^:\s]+:(.+)$/s, /^\S+\s+(.+)$/s].flatMap((pattern) => pattern.exec(secret)?.[1] ?? []);
}

/** What is secret of the values of headers: each of them, and what follows the scheme. */
export function secretsInHeaders(values: readonly string[]): readonly string[] {
  return values.flatMap((value) => {
    const basic = /^basic\s+([\w+/=-]+)$/i.exec(value)?.[1];
    const decoded = basic === undefined ? undefined : fromBase64(basic);
    return [value, ...partsOf(value), ...(decoded === undefined ? [] : [decoded, ...partsOf(decoded)])];
  });
}

function fromBase64(text: string): string | undefined {
  try {
    return atob(text);
  } catch {
    return undefined;
  }
}

/** A text in which none of the secrets is left. */
export function withoutSecrets(text: string, secrets: Iterable<string>): string {
  let shown = text;
  for (const secret of secrets) if (secret.length >= minSecretLength) shown = shown.replaceAll(secret, hidden);
  return shown;
}

/** Hides these secrets, as they are or as JSON and URLs write them, and nothing else. */
export function createMask(secrets: Iterable<string>): Mask {
  const written = [...secrets].flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), inUrl(secret)]);
  // A secret may be a part of another one.
  const all = [...new Set(written)].sort((a, b) => b.length - a.length);
  return (text) => withoutSecrets(text, all);
}

function inUrl(secret: string): string {
  try {
    return encodeURIComponent(secret);
  } catch {
    return secret; // half a character
  }
}

/** A copy of a value as JSON in which every text is masked. */
export function maskJson(value: unknown, mask: Mask): unknown {
  if (typeof value === "string") return mask(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => maskJson(item, mask));
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [mask(name), maskJson(member, mask)]));
}

function asHidden(): string {
  return hidden;
}

/** A shorter value is found everywhere, and is no secret worth the name. */
const minSecretLength = 6;

const headerFlag = /^(?:-H|--?headers?)$/i;
const urlPattern = /\b[a-z][a-z\d+.-]{0,15}:\/\/[^\s"'<>]+/gi;
/** What follows `Bearer`, and texts that begin as credentials of well-known services do. */
const credential =
  /\b(?:(?<=bearer |basic )\S+|(?:sk|pk|rk|ak|gh[opsur]|github_pat|glpat|xox[a-z]|hf|npm|pypi|dop_v1|shpat|whsec|lin_api|ntn|figd|tvly|sbp|tskey|AKIA|ASIA|AIza|ya29|eyJ|SG)[-_.]?[\w.-]{10,})/gi;
const word = /[\w+-]{20,}={0,2}/g;

/** Long words of mixed characters: keys, digests, tokens, UUIDs. */
function maskWord(text: string, hide: Mask): string {
  const digits = text.match(/\d/g)?.length ?? 0;
  const mixed = digits >= 2 && /[a-z]/.test(text) && /[A-Z]/.test(text);
  const isDigest = /^[\da-f-]{32,}$/i.test(text) && digits >= 2;
  return mixed || isDigest ? hide(text) : text;
}

function maskParameter(parameter: string, hide: Mask): string {
  const equals = parameter.indexOf("=");
  return equals < 0 ? hide(parameter) : `${parameter.slice(0, equals)}=${hide(parameter.slice(equals + 1))}`;
}

/** `Authorization: Bearer …`, as curl and its like take it. */
function maskHeader(text: string, hide: Mask): string {
  const [, name, value = ""] = /^([\w-]+):(?!\/\/|\\)\s*(\S.*)/s.exec(text) ?? [];
  return name !== undefined && isSecretOption(name) ? `${name}: ${hide(value)}` : text;
}

function isFlag(arg: string): boolean {
  return arg.startsWith("-");
}
