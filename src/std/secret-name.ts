/** Whether the name of something, spelled in any way (`apiKey`, `API-Key`, `x_api_key`), says that its value is secret. */
export function isSecretName(name: string): boolean {
  return secretName.test(name.toLowerCase().replace(/[^a-z\d]/g, ""));
}

const secretName =
  /passw|pwd|token|secret|credential|authoriz|bearer|cookie|session|private|signature|(?:api|access|auth|signing|encryption)key/;
