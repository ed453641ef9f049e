import { asJson, type Json } from "../../json/json.ts";
import type { ErrorCode, Failure } from "../../model/errors.ts";
import type { ClientCapabilities } from "../../model/peer.ts";
import type { Revision } from "../../model/revision.ts";

/** A decoding that ends here, with the failure to answer with. */
export interface Refusal {
  readonly ok: false;
  readonly failure: Failure;
}

export function refuse(code: ErrorCode, message: string, data?: Json): Refusal {
  return { ok: false, failure: data === undefined ? { code, message } : { code, message, data } };
}

/** Refuses to ask a client for what came with a later revision than it speaks. */
export function refuseFor(what: string, since: Revision, capabilities: ClientCapabilities): Refusal {
  const data = { requiredCapabilities: asJson(capabilities) };
  return refuse("missing-capability", `${what} needs revision ${since}, and the client speaks an older one`, data);
}
