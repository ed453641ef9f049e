import { methodRow } from "../../model/methods.ts";
import { type Revision, revisions } from "../../model/revision.ts";
import { isIn } from "./params.ts";

/** True when the revision has tasks in any form. */
export function hasTasks(revision: Revision): boolean {
  return withTasks.has(revision);
}

const withTasks: ReadonlySet<Revision> = new Set(
  revisions.filter((revision) => isIn(methodRow("tasks/get"), revision)),
);
