import type { Outcome } from "../model/service.ts";

/** For a value that nobody completes. */
export const noCompletion: Outcome<"completion/complete"> = {
  kind: "complete",
  result: { completion: { values: [], hasMore: false } },
};
