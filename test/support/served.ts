// Loaded here, so that nothing in a test waits for it by chance.
import "../../src/server/lazy-parts.ts";
import "../../src/server/listening.ts";
import type { JsonObject } from "../../src/json/json.ts";
import { metaKeys } from "../../src/protocol/meta.ts";
import type { Revision } from "../../src/protocol/revision.ts";
import type { Service } from "../../src/protocol/service.ts";
import { createManualClock, type ManualClock } from "../../src/testing/clock.ts";
import { createFakePeer, type FakePeer } from "../../src/testing/fake-peer.ts";
import { type ServeChannelOptions, type Serving, serveChannel } from "../../src/transport/serve-channel.ts";
import { toChannelBounds } from "../../src/transport/to-channel-bounds.ts";

/** A service on one end of a channel, a client that does what the test says on the other. */
export interface Served {
  readonly client: FakePeer;
  readonly serving: Serving;
  readonly clock: ManualClock;
  /** Resolves when nothing is left to happen without the client or the clock. */
  settled(): Promise<void>;
}

export function serve(service: Service, options: ServeChannelOptions = {}): Served {
  const clock = createManualClock();
  const client = createFakePeer();
  const bounds = toChannelBounds(options, "serve");
  const serving = serveChannel(client.channel, service, { clock, ...options, bounds });
  return { client, serving, clock, settled: () => clock.advanceAsync(0) };
}

/** Params of `initialize`. */
export function hello(revision: string, capabilities: JsonObject = {}): JsonObject {
  return { protocolVersion: revision, capabilities, clientInfo: { name: "fake", version: "1" } };
}

/** Serves a service to a legacy client that has shaken hands. */
export async function serveLegacy(
  service: Service,
  {
    revision = "2025-11-25",
    capabilities = {},
    ...options
  }: ServeChannelOptions & { revision?: Revision; capabilities?: JsonObject } = {},
): Promise<Served> {
  const served = serve(service, options);
  await served.client.request("initialize", hello(revision, capabilities));
  served.client.notify("notifications/initialized");
  await served.settled();
  return served;
}

/** Params as a modern client sends them. */
export function modern(params: JsonObject = {}, meta: JsonObject = {}): JsonObject {
  return {
    ...params,
    _meta: { [metaKeys.protocolVersion]: "2026-07-28", [metaKeys.clientCapabilities]: {}, ...meta },
  };
}

/** A request as text for the wire, with an id of the test's choice. */
export function request(id: string | number, method: string, params: JsonObject = {}): JsonObject {
  return { jsonrpc: "2.0", id, method, params };
}

export function notification(method: string, params: JsonObject = {}): JsonObject {
  return { jsonrpc: "2.0", method, params };
}

/** Something to wait for, and the means to let it happen. */
export function gate<T = void>(): { readonly opened: Promise<T>; open(value: T): void } {
  let open = (_value: T): void => {};
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { opened, open: (value) => open(value) };
}
