import type { LimitReached } from "../protocol/limit-error.ts";
import { once } from "../protocol/platform.ts";
import type { ServerEvent } from "../protocol/server-event.ts";
import { type Middleware, type Service, withCall, withMiddleware } from "../protocol/service.ts";

/** The same service, whose handlers get what `platform` returns as `ctx.platform`. It is called once for a call that asks. */
export function withPlatform(service: Service, platform: () => unknown): Service {
  const give: Middleware = (next) => (call) => next(withCall(call, { platform: once(platform) }));
  return withMiddleware(service, give);
}

/** Tells `onEvent` of a request that was refused because a bound was reached. */
export function toRefusalHook(onEvent: (event: ServerEvent) => void): (reached: LimitReached) => void {
  return () => {
    try {
      onEvent({ kind: "refused", time: new Date().toISOString(), code: "limit-reached" });
    } catch (error) {
      console.error("plugbay: onEvent threw:", error);
    }
  };
}
