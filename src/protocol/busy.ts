import type { Failure } from "./errors.ts";

/** What a call is answered with that may not even wait for its turn. Nothing was done about it. */
export const tooBusy: Failure = {
  code: "limit-reached",
  message: "the server is busy: too many calls of this client wait for their turn; retry when some are answered",
};
