import type * as auth from "../../../src/auth/node/server.ts";
import type * as client from "../../../src/connect/index.ts";
import type * as gateway from "../../../src/gateway/index.ts";
import type * as host from "../../../src/host/index.ts";
import type * as lock from "../../../src/lock/index.ts";
import type * as metrics from "../../../src/metrics/index.ts";
import type { Service } from "../../../src/protocol/service.ts";
import type * as server from "../../../src/server/index.ts";
import type * as testing from "../../../src/testing/index.ts";
import type * as http from "../../../src/transport/node/http.ts";

// The package as it is published, under its public names. The types come from
// the sources, so that they can be checked where nothing has been built. The
// names are no literals, else the compiler would want to see what they name.

const publicName = (subpath: string): string => `plugbay/${subpath}`;

export const { apiKey, anyOf, bearer }: typeof auth = await import(publicName("auth/server"));
export const { connect, McpError }: typeof client = await import(publicName("client"));
export const { openHost }: typeof host = await import(publicName("host"));
export const { openGateway }: typeof gateway = await import(publicName("gateway"));
export const { createMetrics }: typeof metrics = await import(publicName("metrics"));
export const { createLock, writeLock }: typeof lock = await import(publicName("lock"));
export const { serveHttp, toNodeHandler, toFetchHandler }: typeof http = await import(publicName("http"));
export const { createServer, resource, serveChannel, tool }: typeof server = await import(publicName("server"));
export const { testMatrix }: typeof testing = await import(publicName("testing"));

/** The server of the everything fixture, in this process. */
export async function everythingHere(): Promise<Service> {
  const path: string = "../../fixtures/everything/server.mjs";
  const { everything }: { everything: Service } = await import(path);
  return everything;
}
