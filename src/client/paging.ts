import { McpError } from "../model/errors.ts";
import type { Page } from "../model/methods.ts";

export interface WalkOptions {
  /** Names the list in errors. */
  readonly method: string;
  /** Where to start. Absent means the first page. */
  readonly cursor?: string | undefined;
  readonly maxPages: number;
}

/**
 * The pages of a list, in order, each fetched when asked for.
 *
 * Only the absence of a cursor ends the list; an empty one leads on. Throws
 * `invalid-response` when a cursor comes back, and `limit-reached` when there is
 * no end in sight.
 */
export async function* walk<P extends Page>(
  fetchPage: (cursor: string | undefined) => Promise<P>,
  { method, cursor: start, maxPages }: WalkOptions,
): AsyncGenerator<P, void, undefined> {
  const seen = new Set<string | undefined>();
  let cursor = start;
  for (let count = 0; count < maxPages; count++) {
    seen.add(cursor);
    const page = await fetchPage(cursor);
    yield page;
    cursor = page.nextCursor;
    if (cursor === undefined) return;
    if (seen.has(cursor))
      throw new McpError("invalid-response", `${method} repeats the cursor ${JSON.stringify(cursor)}`);
  }
  throw new McpError("limit-reached", `${method} has more than ${maxPages} pages`);
}
