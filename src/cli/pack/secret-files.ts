/** Files that are never packed: settings and keys of whoever packs, and what only they need. */
export function isLeftOut(path: string): boolean {
  return ownFiles.test(nameOf(path)) || path.split(/[\\/]/).includes(".git");
}

/** Why a file must not be packed: its name or its text says that it has a secret. Undefined when nothing does. */
export function secretReason(path: string, bytes: Uint8Array): string | undefined {
  if (secretNames.test(nameOf(path))) return "its name says that it holds credentials";
  if (bytes.length > maxScanned) return undefined;
  const text = Buffer.from(bytes).toString("latin1");
  return signs.find(([, sign]) => sign.test(text))?.[0];
}

function nameOf(path: string): string {
  return path.split(/[\\/]/).at(-1) ?? path;
}

const ownFiles =
  /^(?:\.env(?:\..*)?|\.envrc|\.npmrc|\.yarnrc(?:\.yml)?|\.netrc|.*\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk)|id_(?:rsa|dsa|ecdsa|ed25519)(?:\.pub)?)$/i;

const secretNames =
  /^(?:(?:client[_-]?)?(?:secrets?|credentials?)(?:[._-].*)?\.(?:json|ya?ml|toml|ini|txt|env|cfg)|(?:secrets?|credentials?)|service[_-]?account.*\.json|\.(?:git-credentials|pgpass|htpasswd|dockercfg)|.*\.(?:ovpn|asc|gpg))$/i;

/** What credentials look like in a text. Only forms that hardly stand for anything else. */
const signs: readonly (readonly [reason: string, sign: RegExp])[] = [
  ["it has a private key in it", /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----\s+[\w+/=]/],
  ["it has a token of GitHub in it", /\b(?:gh[opsur]_[A-Za-z0-9]{36}|github_pat_\w{50,})/],
  ["it has a token of GitLab in it", /\bglpat-[\w-]{20,}/],
  ["it has a token of npm in it", /\bnpm_[A-Za-z0-9]{36}\b|_authToken\s*=\s*[\w-]{16,}/],
  ["it has an access key of AWS in it", /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/],
  ["it has a key of Google in it", /\bAIza[\w-]{35}\b/],
  ["it has a token of Slack in it", /\bxox[abprs]-\d+-[\w-]{20,}/],
  ["it has a key of a model provider in it", /\bsk-(?:ant|proj|svcacct)-[\w-]{20,}/],
  ["it has a key of Stripe in it", /\b[rs]k_live_[A-Za-z0-9]{20,}/],
];

/** Texts that somebody wrote are shorter. */
const maxScanned = 16_777_216;
