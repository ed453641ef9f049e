import { once } from "../protocol/platform.ts";
import type { ServerEvent } from "../protocol/server-event.ts";
import { type Middleware, type Service, withCall, withMiddleware } from "../protocol/service.ts";
import type { ChannelBounds } from "./channel-bounds.ts";

/** What one client is served with. */
export interface Served {
  readonly service: Service;
  readonly bounds: ChannelBounds;
}

export interface StdioHooks {
  readonly platform: (() => unknown) | undefined;
  readonly onEvent: ((event: ServerEvent) => void) | undefined;
}

/** The same, where handlers get what `platform` returns as `ctx.platform`, and `onEvent` hears of requests that a bound refuses. */
export function withHooks({ service, bounds }: Served, { platform, onEvent }: StdioHooks): Served {
  const give: Middleware = (next) => (call) => next(withCall(call, { platform: platform && once(platform) }));
  return {
    service: platform === undefined ? service : withMiddleware(service, give),
    bounds: onEvent === undefined ? bounds : { ...bounds, refuse: (limit) => told(bounds.refuse(limit), onEvent) },
  };
}

function told<T>(reached: T, onEvent: (event: ServerEvent) => void): T {
  try {
    onEvent({ kind: "refused", time: new Date().toISOString(), code: "limit-reached" });
  } catch (error) {
    console.error("plugbay: onEvent threw:", error);
  }
  return reached;
}
