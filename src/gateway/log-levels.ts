import type { ClientConnection } from "../connect/create-connect.ts";
import type { Connection } from "../protocol/connection.ts";
import type { LogLevel } from "../protocol/logging.ts";
import type { Service } from "../protocol/service.ts";

/** Tells a server of an older revision which log messages the caller of each call wants. */
export function withLogLevels(line: ClientConnection): ClientConnection {
  const { connection } = line;
  const { setLogLevel, server } = connection;
  if (setLogLevel === undefined || server.capabilities.logging === undefined) return line;
  let told: LogLevel | undefined;
  const service: Service = async (call) => {
    const { logLevel } = call;
    if (logLevel !== undefined && logLevel !== told) {
      told = logLevel;
      // A server that will not be told sends what it likes: callers get what they asked for.
      await setLogLevel(logLevel).catch(() => {});
    }
    return connection.service(call);
  };
  // A connection may inherit members of the one that it observes.
  const telling = Object.create(connection, { service: { value: service, enumerable: true } }) as Connection;
  return { ...line, connection: telling };
}
