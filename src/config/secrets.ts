/** What stands where a secret was. */
export const hidden = "***";

/** Whether the name of something says that its value is secret. */
export function isSecretName(name: string): boolean {
  return secretName.test(name);
}

/** A text that may be shown: without what looks like a secret, and without the parts of URLs that may have one. */
export function maskText(text: string): string {
  return text.replaceAll(urlPattern, maskUrl).replaceAll(credential, hidden).replaceAll(word, maskWord);
}

/** A URL that may be shown: names of parameters stay, their values do not. */
export function maskUrl(url: string): string {
  const [, start = "", rest = url] = /^([a-z][a-z\d+.-]*:\/\/)?(.*)$/is.exec(url) ?? [];
  const [place = "", query] = rest.split(/[?#](.*)/s);
  const [authority = "", path = ""] = place.split(/(?=\/)(.*)/s);
  const at = authority.lastIndexOf("@");
  const host = at < 0 ? authority : `${hidden}@${authority.slice(at + 1)}`;
  const shown = `${start}${host}${path.replaceAll(word, maskWord)}`;
  return query === undefined ? shown : `${shown}?${query.split("&").map(maskParameter).join("&")}`;
}

/** Arguments that may be shown: without the values of flags that name a secret, and of headers. */
export function maskArgs(args: readonly string[]): readonly string[] {
  return args.map((arg, index) => {
    const flag = args[index - 1] ?? "";
    if (headerFlag.test(flag)) return maskHeader(arg);
    if (isFlag(flag) && !flag.includes("=") && isSecretName(flag)) return hidden;
    const [, name, value] = /^([^=\s]+)=(.*)$/s.exec(arg) ?? [];
    if (name === undefined || value === undefined) return maskHeader(maskText(arg));
    return `${name}=${isSecretName(name) ? hidden : maskHeader(maskText(value))}`;
  });
}

/** A text in which none of the secrets is left. */
export function withoutSecrets(text: string, secrets: Iterable<string>): string {
  let shown = text;
  for (const secret of secrets) if (secret.length >= minSecretLength) shown = shown.replaceAll(secret, hidden);
  return shown;
}

/** A shorter value is found everywhere, and is no secret worth the name. */
const minSecretLength = 6;

const secretName = /key|token|secret|passw|pwd|credential|auth|bearer|cookie|session|private|signature/i;
const headerFlag = /^(?:-H|--?headers?)$/i;
const urlPattern = /\b[a-z][a-z\d+.-]{0,15}:\/\/[^\s"'<>]+/gi;
/** What follows `Bearer`, and texts that begin as credentials of well-known services do. */
const credential =
  /\b(?:(?<=bearer |basic )\S+|(?:sk|pk|rk|ak|gh[opsur]|github_pat|glpat|xox[a-z]|hf|npm|pypi|dop_v1|shpat|whsec|lin_api|ntn|figd|tvly|sbp|tskey|AKIA|ASIA|AIza|ya29|eyJ|SG)[-_.]?[\w.-]{10,})/gi;
const word = /[\w+-]{20,}={0,2}/g;

/** Long words of mixed characters: keys, digests, tokens, UUIDs. */
function maskWord(text: string): string {
  const digits = text.match(/\d/g)?.length ?? 0;
  const mixed = digits >= 2 && /[a-z]/.test(text) && /[A-Z]/.test(text);
  const isDigest = /^[\da-f-]{32,}$/i.test(text) && digits >= 2;
  return mixed || isDigest ? hidden : text;
}

function maskParameter(parameter: string): string {
  const equals = parameter.indexOf("=");
  return equals < 0 ? hidden : `${parameter.slice(0, equals)}=${hidden}`;
}

/** `Authorization: Bearer …`, as curl and its like take it. */
function maskHeader(text: string): string {
  const [, name] = /^([\w-]+):(?!\/\/|\\)\s*\S/.exec(text) ?? [];
  return name !== undefined && isSecretName(name) ? `${name}: ${hidden}` : text;
}

function isFlag(arg: string): boolean {
  return arg.startsWith("-");
}
