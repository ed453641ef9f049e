import { isObject, type JsonObject } from "../json/json.ts";
import type { Failure } from "../protocol/errors.ts";
import { toLimitFailure } from "../protocol/limit-error.ts";
import type { Share } from "./caller.ts";

/** What was taken for a subscription, or why there is none. */
export type Taken = { readonly ok: true; giveBack(): void } | { readonly ok: false; readonly failure: Failure };

/** Takes a stream and its subscriptions from the budget of a client. */
export function takeStream({ notifications }: JsonObject, share: Share, maxUriLength: number): Taken {
  const wanted = isObject(notifications) ? Object.values(notifications).flatMap(namesIn) : [];
  const long = wanted.find((name) => name.length > maxUriLength);
  if (long !== undefined) return { ok: false, failure: uriTooLong(long, maxUriLength) };
  const noStream = share.take("streams");
  if (noStream !== undefined) return { ok: false, failure: toLimitFailure(noStream) };
  const short = share.take("subscriptions", wanted.length);
  if (short !== undefined) share.give("streams");
  return short === undefined
    ? {
        ok: true,
        giveBack() {
          share.give("streams");
          share.give("subscriptions", wanted.length);
        },
      }
    : { ok: false, failure: toLimitFailure(short) };
}

/** Resources and tasks have names. Lists come without. */
function namesIn(names: unknown): readonly string[] {
  return Array.isArray(names) ? names.map(String) : [];
}

/** Why a resource cannot be subscribed to. */
export function uriTooLong(uri: string, max: number): Failure {
  const message = `the URI of a subscription has ${uri.length} characters, and limits.maxUriLength is ${max}`;
  return { code: "invalid-params", message };
}
