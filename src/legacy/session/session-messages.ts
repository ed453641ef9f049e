import type { JsonObject } from "../../json/json.ts";
import { isAtLeast, isLogLevel, type LogLevel } from "../../protocol/logging.ts";
import { changeKeys, metaOf } from "../../protocol/meta.ts";

/** The session that a message is for, if it is for one only. */
export function sessionOf(params: JsonObject): string | undefined {
  const { [changeKeys.session]: session } = metaOf(params);
  return typeof session === "string" ? session : undefined;
}

/** True unless it is a log message of a level that the client does not want. */
export function isLoud(method: string, { level }: JsonObject, wanted: LogLevel | undefined): boolean {
  if (method !== "notifications/message" || !isLogLevel(level)) return true;
  return wanted !== undefined && isAtLeast(level, wanted);
}
