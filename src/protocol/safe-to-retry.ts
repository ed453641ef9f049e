import { isObject } from "../json/json.ts";
import type { Failure } from "./errors.ts";

/** The failure of a call that its server has not seen: it can be made again, whatever it does. */
export function markUnsent(failure: Failure): Failure {
  return { ...failure, data: { ...(isObject(failure.data) && failure.data), safeToRetry: true } };
}

/** True for the failure of a call that certainly had no effect. */
export function isSafeToRetry({ data }: Pick<Failure, "data">): boolean {
  return isObject(data) && data.safeToRetry === true;
}
