import { vi } from "vitest";
import type { Client } from "../../src/client/client.ts";
import { type ConnectOptions, connectBy } from "../../src/connect/connect.ts";
import type { JsonObject } from "../../src/json/json.ts";
import type { Opening } from "../../src/protocol/connection.ts";
import type { Revision } from "../../src/protocol/revision.ts";
import { createManualClock, type ManualClock } from "../../src/testing/clock.ts";
import { createFakePeer, type FakePeer } from "../../src/testing/fake-peer.ts";
import { openChannel } from "../../src/transport/open-channel.ts";

export const allCapabilities: JsonObject = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  logging: {},
  completions: {},
};

/** The result of `initialize`. */
export function welcome(revision: string, capabilities: JsonObject = allCapabilities): JsonObject {
  return { protocolVersion: revision, capabilities, serverInfo: { name: "fake", version: "1" } };
}

/** The result of `server/discover`. */
export function discovered(
  supportedVersions: readonly string[] = ["2026-07-28"],
  capabilities = allCapabilities,
): JsonObject {
  return { resultType: "complete", supportedVersions, capabilities, ttlMs: 0, cacheScope: "private" };
}

/** An opening whose every part can be watched. */
export function opening(clock: ManualClock, changes: Partial<Opening> = {}): Opening {
  return {
    info: { name: "tester", version: "1" },
    capabilities: {},
    answer: vi.fn(),
    notified: vi.fn(),
    timeoutMs: 30_000,
    clock,
    ...changes,
  };
}

/** A real client on one end of a channel, a server that does what the test says on the other. */
export interface Connected {
  readonly client: Client;
  readonly server: FakePeer;
  readonly clock: ManualClock;
  /** Resolves when nothing is left to happen without the server or the clock. */
  settled(): Promise<void>;
}

export async function connected(
  revision: Revision,
  options: ConnectOptions = {},
  capabilities: JsonObject = allCapabilities,
): Promise<Connected> {
  const clock = createManualClock();
  const server = createFakePeer();
  const connecting = connectBy((given) => openChannel(server.channel, given), { clock, ...options, revision });
  await answerOpening(server, revision, capabilities);
  return { client: await connecting, server, clock, settled: () => clock.advanceAsync(0) };
}

/** Does the server's part of opening a connection. */
export async function answerOpening(
  server: FakePeer,
  revision: Revision,
  capabilities = allCapabilities,
): Promise<void> {
  if (revision === "2026-07-28") {
    server.reply(await server.expect("server/discover"), discovered([revision], capabilities));
    return;
  }
  server.reply(await server.expect("initialize"), welcome(revision, capabilities));
  await server.expect("notifications/initialized");
}
