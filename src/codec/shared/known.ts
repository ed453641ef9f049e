import { type MethodRow, methodRow } from "../../model/methods.ts";
import { isSince, type Revision, revisions } from "../../model/revision.ts";

/** True unless the method is one of the protocol that this revision does not have yet, or does not have any more. */
export function isKnown(method: string, revision: Revision): boolean {
  return isIn(methodRow(method), revision);
}

/** The same, for who has looked up the row. */
export function isIn({ since, until }: MethodRow, revision: Revision): boolean {
  return (since === undefined || isSince(revision, since)) && (until === undefined || isSince(until, revision));
}

/** True when the revision has tasks in any form. */
export function hasTasks(revision: Revision): boolean {
  return withTasks.has(revision);
}

const withTasks: ReadonlySet<Revision> = new Set(revisions.filter((revision) => isKnown("tasks/get", revision)));
