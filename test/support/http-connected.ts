import { vi } from "vitest";
import type { Client } from "../../src/client/client.ts";
import { type ConnectOptions, connectBy } from "../../src/connect/connect.ts";
import { createManualClock, type ManualClock } from "../../src/testing/clock.ts";
import { type HttpClientOptions, openHttp } from "../../src/transport/http/client/open-http.ts";
import { allCapabilities, discovered, welcome } from "./connected.ts";
import { createFakeHttp, type FakeHttp } from "./fake-http.ts";

/** A client that is connecting to a URL where a server does what the test says. */
export interface HttpConnecting {
  readonly http: FakeHttp;
  readonly clock: ManualClock;
  readonly url: URL;
  readonly warn: ReturnType<typeof vi.fn>;
  readonly client: Promise<Client>;
  /** Resolves when nothing is left to happen without the server or the clock. */
  settled(): Promise<void>;
}

let count = 0;

/** No two tests share a URL, for what a server spoke is remembered by it. */
export function freshUrl(): URL {
  return new URL(`http://127.0.0.1:3000/mcp/${++count}`);
}

export function httpConnecting(
  options: ConnectOptions = {},
  http: Partial<HttpClientOptions> & { readonly url?: URL } = {},
): HttpConnecting {
  const clock = createManualClock();
  const server = createFakeHttp();
  const warn = vi.fn();
  const url = http.url ?? freshUrl();
  const client = connectBy((opening) => openHttp(url, opening, { send: server.send, warn, random: () => 1, ...http }), {
    clock,
    ...options,
  });
  client.catch(() => {});
  return { http: server, clock, url, warn, client, settled: () => clock.advanceAsync(0) };
}

export interface HttpConnected extends Omit<HttpConnecting, "client"> {
  readonly client: Client;
}

/** A client of a modern server. */
export async function httpModern(options?: ConnectOptions, http?: Partial<HttpClientOptions>): Promise<HttpConnected> {
  const connecting = httpConnecting(options, http);
  (await connecting.http.expect("server/discover")).result(discovered());
  return { ...connecting, client: await connecting.client };
}

/** A client of a legacy server, which has a stream of its own if the test opens it. */
export async function httpLegacy(
  options: ConnectOptions = {},
  http?: Partial<HttpClientOptions>,
  session: Readonly<Record<string, string>> = { "mcp-session-id": "s1" },
): Promise<HttpConnected> {
  const connecting = httpConnecting({ revision: "2025-11-25", ...options }, http);
  const revision = options.revision ?? "2025-11-25";
  (await connecting.http.expect("initialize")).result(welcome(revision, allCapabilities), session);
  (await connecting.http.expect("notifications/initialized")).reply(202);
  // For so long calls wait for the stream to open.
  await connecting.clock.advanceAsync(500);
  return { ...connecting, client: await connecting.client };
}
