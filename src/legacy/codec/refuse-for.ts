import { type Refusal, refuse } from "../../codec/shared/refuse.ts";
import { asJson } from "../../json/json.ts";
import type { ClientCapabilities } from "../../model/peer.ts";
import type { Revision } from "../../model/revision.ts";

/** Refuses to ask a client for what came with a later revision than it speaks. */
export function refuseFor(what: string, since: Revision, capabilities: ClientCapabilities): Refusal {
  const data = { requiredCapabilities: asJson(capabilities) };
  return refuse("missing-capability", `${what} needs revision ${since}, and the client speaks an older one`, data);
}
