import type { Json, JsonObject } from "../json/json.ts";
import { McpError } from "../protocol/errors.ts";
import { isLogLevel, type LogLevel } from "../protocol/logging.ts";
import { isVendorMethod } from "../protocol/notification.ts";
import type { ServerCapabilities } from "../protocol/peer.ts";
import type { Addressee } from "../protocol/subscription.ts";
import { redact } from "../std/redact.ts";
import type { Changes } from "./changes.ts";

/** What a server says outside of calls, to clients that have sessions: those of revisions before 2026-07-28. */
export interface Messages {
  /**
   * Sends a log message to clients that request messages of this level: to all, or to those of a principal or session,
   * in any process. Members of `data` that look like credentials are hidden. Throws `unsupported` when the server was
   * created without `logging`.
   */
  log(level: LogLevel, data: unknown, to?: Addressee): void;
  /**
   * Sends a notification that the protocol does not define, to the same clients. Throws `unsupported` when the
   * server was created without `experimental`, by which clients learn of such notifications.
   */
  notify(method: string, params?: JsonObject, to?: Addressee): void;
}

export function createMessages({ say }: Pick<Changes, "say">, capabilities: () => ServerCapabilities): Messages {
  return {
    log(level, data, to) {
      if (!isLogLevel(level)) throw new McpError("invalid-params", `server.log: there is no level ${String(level)}`);
      requireOption(capabilities().logging, "log messages", "logging: true");
      const params = { level, data: (redact(data) as Json | undefined) ?? null };
      say({ kind: "message", method: "notifications/message", params, to });
    },
    notify(method, params = {}, to) {
      if (!isVendorMethod(method)) {
        const instead = "use server.log, server.listChanged or server.resourceUpdated for what the protocol defines";
        throw new McpError("invalid-params", `server.notify cannot send ${method}: ${instead}`);
      }
      requireOption(capabilities().experimental, "notifications of your own", "experimental");
      say({ kind: "message", method, params, to });
    },
  };
}

function requireOption(given: JsonObject | undefined, what: string, option: string): void {
  if (given === undefined) throw new McpError("unsupported", `cannot send ${what}: createServer needs ${option}`);
}
