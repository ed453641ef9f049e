/** Arguments as they may be shown: without the value of any flag that names a secret. */
export function hideSecretArgs(args: readonly string[]): readonly string[] {
  return args.map((arg, index) => {
    const flag = args[index - 1] ?? "";
    if (isFlag(flag) && !flag.includes("=") && secretName.test(flag)) return hidden;
    const equals = arg.indexOf("=");
    return equals > 0 && secretName.test(arg.slice(0, equals)) ? `${arg.slice(0, equals)}=${hidden}` : arg;
  });
}

/** A text without the values of those variables whose name says that they are secret. */
export function hideSecretValues(text: string, env: Readonly<Record<string, string>>): string {
  let shown = text;
  for (const [name, value] of Object.entries(env)) {
    if (value.length >= minSecretChars && secretName.test(name)) shown = shown.replaceAll(value, hidden);
  }
  return shown;
}

const hidden = "[REDACTED]";
const secretName = /key|token|secret|passw|credential|auth|bearer/i;
/** A shorter value would be found everywhere, and is no secret worth the name. */
const minSecretChars = 6;

function isFlag(arg: string): boolean {
  return arg.startsWith("-");
}
