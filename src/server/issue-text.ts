import type { Issue } from "../schema/validator.ts";

/** Issues in words, for whoever can mend them. */
export function issueText(issues: readonly Issue[]): string {
  return issues.map(({ path, message }) => (path === "" ? message : `${path} ${message}`)).join("; ");
}
