import { isScope } from "../protocol/scopes.ts";
import type { Outcome } from "../protocol/service.ts";
import { type Lazy, lazy } from "../std/lazy.ts";
import type { Accessible } from "./accessible.ts";
import { badDefinition } from "./definition.ts";

/**
 * The outcome for a caller without the scopes. Checked before the arguments, whose schema is only for allowed callers.
 */
export function forbidden(owner: string, scopes: readonly string[]): { readonly kind: "failed" } & Outcome {
  const message = `${owner} needs scopes that the caller was not granted; sign in again with: ${scopes.join(" ")}`;
  return { kind: "failed", failure: { code: "forbidden", message, data: { reason: "forbidden", scopes } } };
}

/** What it takes that some things are for some callers only. */
export const visibility: Lazy<typeof import("./visibility.ts")> = lazy(() => import("./visibility.ts"));

/** Throws `invalid-definition` when the access rules of a definition are malformed. */
export function checkAccess(owner: string, { scopes, visible }: Accessible): void {
  if (scopes?.every(isScope) === false) throw badDefinition(owner, "scopes must be texts without spaces");
  if (visible !== undefined && typeof visible !== "function") throw badDefinition(owner, "visible must be a function");
}
