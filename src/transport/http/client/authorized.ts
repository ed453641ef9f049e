import type { AuthorizedRequest, Authorizer } from "../../../model/authorizer.ts";
import { McpError } from "../../../model/errors.ts";
import type { LazyAbort } from "../../../std/lazy-abort.ts";
import type { IncomingResponse } from "../http-send.ts";
import type { Headers } from "./user-headers.ts";

/** How one request is sent, again and again. */
export interface Attempts {
  send(shown: Headers): Promise<IncomingResponse>;
  readonly abort: LazyAbort;
}

/** Whoever authorizes decides whether to go on, but not for ever. */
const maxAttempts = 6;

/**
 * Sends a request with what the authorizer has to show, and again for as long
 * as it has something better. The end of a session is no reason to bother
 * anybody: it is sent once.
 */
export async function sendAuthorized(
  auth: Authorizer,
  request: AuthorizedRequest,
  { send, abort }: Attempts,
): Promise<IncomingResponse> {
  for (let attempt = 1; ; attempt++) {
    const shown = await unlessAborted(auth.headers(request), abort);
    const response = await send(shown);
    auth.answered?.(request, response);
    const isRefused = response.status === 401 || response.status === 403;
    if (!isRefused || request.method === "DELETE" || attempt === maxAttempts) return response;
    const refused = unlessAborted(auth.refused(request, response), abort);
    const isWorthwhile = await refused.catch((error: unknown) => {
      response.discard();
      throw error;
    });
    if (!isWorthwhile) return response;
    response.discard();
  }
}

/** Somebody who gives up a request does not wait for a user to sign in. */
function unlessAborted<T>(waiting: Promise<T>, abort: LazyAbort): Promise<T> {
  return new Promise((resolve, reject) => {
    const unlisten = abort.onAbort(() => reject(new McpError("cancelled", "the request was given up")));
    waiting.then(resolve, reject).finally(unlisten);
  });
}
