import { toError } from "../model/errors.ts";
import type { DiscoverResult } from "../model/methods.ts";
import { newest } from "../model/revision.ts";
import { createCall, type Service } from "../model/service.ts";
import type { HttpFacts } from "../std/http-facts.ts";
import { LazyAbort } from "../std/lazy-abort.ts";

/**
 * What a service says of itself: to anybody, or to who sent a request. Throws an
 * `McpError` when it does not say.
 */
export async function describeService(service: Service, http?: HttpFacts): Promise<DiscoverResult> {
  const outcome = await service(
    createCall({
      method: "server/discover",
      params: {},
      peer: { revision: newest, capabilities: {} },
      abort: new LazyAbort(),
      notify: () => undefined,
      http,
    }),
  );
  if (outcome.kind === "complete") return outcome.result;
  throw toError(
    outcome.kind === "failed"
      ? outcome.failure
      : { code: "invalid-response", message: "the service does not say what it is" },
  );
}
