import { type Revision, revisions } from "../model/revision.ts";

/** The revisions spoken here, newest first: what servers advertise and what refusals list. */
export const supportedRevisions: readonly Revision[] = [...revisions].reverse();
