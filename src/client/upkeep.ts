import type { Connection } from "../model/connection.ts";
import type { LogLevel } from "../model/logging.ts";
import type { DiscoverResult, Method, Result } from "../model/methods.ts";
import { isSince, newest } from "../model/revision.ts";
import type { Service } from "../model/service.ts";
import type { CachedCallOptions, CallOptions } from "./call-options.ts";
import { type Calls, unsupported } from "./calls.ts";
import type { Requests } from "./request.ts";

/** What concerns the connection and not what the server is for. The eras differ most here; the caller sees one. */
export interface Upkeep {
  discover(options?: CachedCallOptions): Promise<DiscoverResult>;
  ping(options?: CallOptions): Promise<void>;
  setLogLevel(level: LogLevel, options?: CallOptions): Promise<void>;
}

export function createUpkeep(connection: Connection, requests: Requests, call: Calls["call"]): Upkeep {
  const { server, revision } = connection;

  return {
    async discover(options) {
      return isSince(revision, newest) ? call("server/discover", {}, options) : server;
    },
    async ping(options) {
      if (connection.ping === undefined) await call("server/discover", {}, { ...options, fresh: true });
      else await requests.sendRaw("ping", {}, options, { service: doing(() => connection.ping?.()) });
    },
    async setLogLevel(level, options) {
      if (server.capabilities.logging === undefined) throw unsupported(server, "logging/setLevel", "logging");
      const service = doing(() => connection.setLogLevel?.(level));
      await requests.sendRaw("logging/setLevel", { level }, options, { service });
      requests.logLevel = level;
    },
  };
}

/** A service for what the connection does by itself, so that it has the limits of any other call. */
function doing(work: () => Promise<void> | undefined): Service {
  return async <M extends Method>() => {
    await work();
    return { kind: "complete", result: {} as Result<M> };
  };
}
