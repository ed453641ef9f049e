import { UsageError } from "../usage-error.ts";

/** The item of a name. Throws a {@link UsageError} that says which name was meant. */
export function findNamed<T extends { readonly name: string }>(wanted: string, items: readonly T[], kind: string): T {
  const found = items.find(({ name }) => name === wanted);
  if (found !== undefined) return found;
  const known = items.map(({ name }) => name);
  const hint = known.length === 0 ? `the server has no ${kind}s` : `its ${kind}s are ${listed(known)}`;
  throw new UsageError(`there is no ${kind} ${JSON.stringify(wanted)}`, hint, { name: wanted, known });
}

const maxListed = 12;

function listed(names: readonly string[]): string {
  const more = names.length > maxListed ? ` and ${names.length - maxListed} more` : "";
  return `${names.slice(0, maxListed).join(", ")}${more}`;
}
