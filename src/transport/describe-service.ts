import { toError } from "../protocol/errors.ts";
import type { DiscoverResult } from "../protocol/methods.ts";
import { newest } from "../protocol/revision.ts";
import { bareOf, type CallOrigin, createCall, type Service } from "../protocol/service.ts";
import { LazyAbort } from "../std/lazy-abort.ts";

/**
 * What a service says of itself to a client, which middleware sees and may refuse. Without
 * a client it is asked directly. Throws an `McpError` when it does not say.
 */
export async function describeService(service: Service, client?: CallOrigin): Promise<DiscoverResult> {
  const outcome = await (client === undefined ? bareOf(service) : service)(
    createCall({
      method: "server/discover",
      params: {},
      peer: { revision: newest, capabilities: {} },
      abort: new LazyAbort(),
      notify: () => undefined,
      ...client,
    }),
  );
  if (outcome.kind === "complete") return outcome.result;
  throw toError(
    outcome.kind === "failed"
      ? outcome.failure
      : { code: "invalid-response", message: "the service does not say what it is" },
  );
}
