/** The protocol revisions, oldest first. */
export const revisions = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] as const;

export type Revision = (typeof revisions)[number];

/** Revisions that open with `initialize`. */
export type LegacyRevision = Exclude<Revision, "2026-07-28">;

/** Stateful revisions open with `initialize`; stateless ones say everything on every request. */
export type Era = "legacy" | "modern";

/** The newest stateless revision: the one the model is shaped like. */
export const newest: "2026-07-28" = "2026-07-28";

/** The newest revision that opens with `initialize`. */
export const newestLegacy: "2025-11-25" = "2025-11-25";

export function isRevision(value: unknown): value is Revision {
  return (revisions as readonly unknown[]).includes(value);
}

export function eraOf(revision: Revision): Era {
  return isLegacy(revision) ? "legacy" : "modern";
}

export function isLegacy(revision: Revision): revision is LegacyRevision {
  return revision !== newest;
}

/** True when `revision` is `other` or came after it. */
export function isSince(revision: Revision, other: Revision): boolean {
  return revisions.indexOf(revision) >= revisions.indexOf(other);
}
