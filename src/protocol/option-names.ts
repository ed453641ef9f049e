import { McpError } from "./errors.ts";

/** The names of all options of `T`: the compiler says which is missing. */
export type OptionNames<T> = { readonly [K in keyof T & string]-?: true };

/** Names that other libraries use for an option. */
export type OtherNames = Readonly<Record<string, string>>;

/**
 * Throws `invalid-definition` for an unknown option, and suggests a similar name. An option that is undefined counts as
 * absent.
 */
export function checkOptionNames(owner: string, options: object, known: object, others: OtherNames = {}): void {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || Object.hasOwn(known, name)) continue;
    const names = Object.keys(known);
    const suggestion = others[name] ?? find(name, names, isBeginning) ?? find(name, names, isTypo);
    const hint = suggestion === undefined ? `its options are ${names.join(", ")}` : `did you mean "${suggestion}"?`;
    const message = `${owner} has an unknown option "${name}"; ${hint}`;
    throw new McpError("invalid-definition", message, { data: { member: name } });
  }
}

/** Throws `invalid-definition` for a value that is neither a server nor a host nor another service. */
export function checkService(owner: string, service: unknown): void {
  if (typeof service === "function") return;
  throw new McpError("invalid-definition", `${owner} takes a server first, as createServer returns it`);
}

/** The first name that is like another in some way, whichever of both is longer. */
function find(
  name: string,
  names: readonly string[],
  isLike: (long: string, short: string) => boolean,
): string | undefined {
  const one = name.toLowerCase();
  return names.find((known) => {
    const other = known.toLowerCase();
    return one.length > other.length ? isLike(one, other) : isLike(other, one);
  });
}

function isBeginning(long: string, short: string): boolean {
  return long.startsWith(short);
}

/** True when one or two letters are missing. */
function isTypo(long: string, short: string): boolean {
  let found = 0;
  for (const letter of long) if (letter === short[found]) found++;
  return found === short.length && long.length - found < 3;
}
