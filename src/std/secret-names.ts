/**
 * Names of what is secret: the one list for logs, for configuration that is shown, and for errors. Names are compared in any
 * spelling: `apiKey`, `API-Key`, `x_api_key`.
 */

/** Whether the name of something says that its value is secret. */
export function isSecretName(name: string): boolean {
  const words = name
    .replace(/([a-z\d])([A-Z])/g, "$1 $2")
    .replace(/[^a-zA-Z\d]+/g, " ")
    .toLowerCase();
  return part.test(words.replaceAll(" ", "")) || word.test(words);
}

/** The same for flags, variables and headers, which are there to sign in with: with them, any key is a secret. */
export function isSecretOption(name: string): boolean {
  return isSecretName(name) || /key|auth/i.test(name);
}

/** What is secret wherever in a name it stands. */
const part =
  /passw|passphrase|passcode|pwd|token|secret|credential|authoriz|bearer|jwt|cookie|session|private|signature|connectionstring|connstr|dsn$|(?:api|app|access|account|auth|signing|encryption|master|shared|storage)key/;

/** What is secret as a word of its own: as a part of others (`author`, `signal`) it would hide too much. */
const word = /\b(?:o?auth|dsn|t?otp|pat|pin|psk|sid|sig)\b/;
