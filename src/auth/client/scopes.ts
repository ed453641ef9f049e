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
export interface ScopeFacts {
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
