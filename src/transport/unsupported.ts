import { McpError } from "../model/errors.ts";
import { isLegacy, type LegacyRevision, type Revision, revisions } from "../model/revision.ts";

/** The error of a server that speaks nothing we may speak with it. */
export function unsupported(supported: readonly string[], wanted: Revision | undefined): McpError {
  const why = wanted === undefined ? "which this client does not" : `and ${wanted} was asked for`;
  const message = `the server speaks ${supported.join(", ") || "no revision"}, ${why}`;
  return new McpError("unsupported-revision", message, { data: { supported } });
}

/** The newest of these that opens with a handshake. */
export function newestLegacyOf(supported: readonly unknown[]): LegacyRevision | undefined {
  return revisions.filter(isLegacy).findLast((revision) => supported.includes(revision));
}
