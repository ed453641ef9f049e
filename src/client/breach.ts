import { McpError } from "../model/errors.ts";
import type { Issue } from "../schema/validator.ts";

/** The error of a value that is not what its schema promised. The message names the first issue, `data` lists all. */
export function breach(what: string, issues: readonly Issue[]): McpError {
  const [first] = issues;
  const where = first === undefined ? "" : `: ${[first.path, first.message].filter(Boolean).join(" ")}`;
  const data = { issues: issues.map(({ path, keyword, message }) => ({ path, keyword, message })) };
  return new McpError("invalid-response", `${what}${where}`, { data });
}
