import { methodRow } from "../../model/methods.ts";
import { isSince, type Revision } from "../../model/revision.ts";

/** True unless the method is one of the protocol that this revision does not have yet, or does not have any more. */
export function isKnown(method: string, revision: Revision): boolean {
  const { since, until } = methodRow(method);
  return (since === undefined || isSince(revision, since)) && (until === undefined || isSince(until, revision));
}

/** True when the revision has tasks in any form. */
export function hasTasks(revision: Revision): boolean {
  return isKnown("tasks/get", revision);
}
