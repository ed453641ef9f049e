import { asJson, type JsonObject } from "../../json/json.ts";
import { metaKeys } from "../meta.ts";
import type { DetailedTask } from "../task.ts";
import type { Decoded, DecodedNotification, NotificationScope } from "./codec.ts";
import { type Change, type Dialect, inOrder, without, withoutMeta } from "./dialect.ts";
import type { TaskWriter } from "./outcomes.ts";
import { readDetails } from "./results.ts";

/** Params of a notification as a dialect says them, or undefined when it has no such notification. */
type WriteNotification = (method: string, params: JsonObject, scope?: NotificationScope) => JsonObject | undefined;

/** How a dialect encodes notifications. Notifications without a rule are encoded unchanged. */
export function createNotificationWriter(
  dialect: Dialect,
  writeTask: TaskWriter = briefly(dialect),
): WriteNotification {
  const listed = new Map(Object.entries(dialect.notifications));

  return (method, params, scope = {}) => {
    if (listed.get(method) === false) return undefined;
    if (method === tasks) return written(writeTask(params), dialect.notification);
    const plain = dialect.notification(params);
    return method === progress ? withToken(dialect.progress(plain), scope) : plain;
  };
}

const progress = "notifications/progress";
const tasks = "notifications/tasks";

/** For dialects whose notifications contain only the status of a task. */
function briefly(dialect: Dialect): TaskWriter {
  return (task) => ({ ok: true, value: dialect.task(task) });
}

function written(task: Decoded<JsonObject>, change: Change): JsonObject | undefined {
  return task.ok ? change(task.value) : undefined;
}

/** What a dialect calls its notifications. */
export function nameWriter(dialect: Dialect): (method: string) => string {
  const listed = new Map(Object.entries(dialect.notifications));
  return (method) => {
    const name = listed.get(method);
    return typeof name === "string" ? name : method;
  };
}

/** Progress without a progress token cannot be sent. */
function withToken(params: JsonObject, scope: NotificationScope): JsonObject | undefined {
  const progressToken = scope.progressToken ?? params.progressToken;
  return progressToken === undefined ? undefined : { ...params, progressToken };
}

/** A notification without the progress token and the subscription id, which only route it. */
export function decodeNotification(method: string, params: JsonObject): DecodedNotification | undefined {
  if (method === progress) return { method, params: withoutBoth(params) };
  const plain = withoutSubscription(params);
  return method === tasks ? taskNotification(readDetails(plain)) : { method, params: plain };
}

/** A task is announced by one name, whatever the server calls it. */
export function taskNotification(task: Decoded<DetailedTask>): DecodedNotification | undefined {
  return task.ok ? { method: tasks, params: asJson(task.value) } : undefined;
}

export const withoutSubscription: Change = withoutMeta(metaKeys.subscriptionId);
const withoutBoth: Change = inOrder(without("progressToken"), withoutSubscription);
