import type { Json } from "../../json/json.ts";
import type { ErrorCode, Failure } from "../../model/errors.ts";

/** A decoding that ends here, with the failure to answer with. */
export interface Refusal {
  readonly ok: false;
  readonly failure: Failure;
}

export function refuse(code: ErrorCode, message: string, data?: Json): Refusal {
  return { ok: false, failure: data === undefined ? { code, message } : { code, message, data } };
}
