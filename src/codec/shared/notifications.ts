import type { JsonObject } from "../../json/json.ts";
import { metaKeys } from "../../model/meta.ts";
import type { NotificationScope } from "../codec.ts";
import { type Change, inOrder, without, withoutMeta } from "./change.ts";
import type { Dialect } from "./dialect.ts";

/** Params of a notification as a dialect says them, or undefined when it has no such notification. */
type WriteNotification = (method: string, params: JsonObject, scope?: NotificationScope) => JsonObject | undefined;

/** How a dialect says notifications. One that nobody described is said as it is. */
export function createNotificationWriter(dialect: Dialect): WriteNotification {
  const listed = new Map(Object.entries(dialect.notifications));

  return (method, params, scope = {}) => {
    if (listed.get(method) === false) return undefined;
    const said = dialect.notification(params);
    return method === progress ? withToken(dialect.progress(said), scope) : said;
  };
}

const progress = "notifications/progress";

/** Progress that nobody asked for by a token cannot be sent. */
function withToken(params: JsonObject, scope: NotificationScope): JsonObject | undefined {
  const progressToken = scope.progressToken ?? params.progressToken;
  return progressToken === undefined ? undefined : { ...params, progressToken };
}

/** Params without the progress token and the subscription id: they told whose it is, and nothing else. */
export function decodeNotification(method: string, params: JsonObject): JsonObject {
  return (method === progress ? withoutBoth : withoutSubscription)(params);
}

const withoutSubscription: Change = withoutMeta(metaKeys.subscriptionId);
const withoutBoth: Change = inOrder(without("progressToken"), withoutSubscription);
