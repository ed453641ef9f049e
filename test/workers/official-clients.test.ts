import {
  StreamableHTTPClientTransport as TransportV2,
  type VersionNegotiationMode,
} from "@modelcontextprotocol/client";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { describe } from "vitest";
import { behavesInEveryEra, behavesInSessions } from "../e2e/support/behaviours.ts";
import { sessionFor } from "../e2e/support/official.ts";
import { openV1 } from "../e2e/support/official-v1.ts";
import { openV2 } from "../e2e/support/official-v2.ts";
import { isAsked } from "../e2e/support/questions.ts";
import { startWorker } from "./support/worker.ts";

// Clients of the official SDK against our server in workerd.

const worker = await startWorker("test/fixtures/workers/everything.mjs", {
  compatibilityFlags: ["enable_request_signal"],
});
const endpoint = (): URL => new URL("/mcp", worker.url);

describe("the official client, version 1, and a Worker (I2)", () => {
  const session = sessionFor(() => openV1(new TransportV1(endpoint())));
  behavesInEveryEra(session);
  behavesInSessions(session);
  isAsked(session);
});

const eras: readonly { readonly name: string; readonly mode: VersionNegotiationMode }[] = [
  { name: "legacy", mode: "legacy" },
  { name: "modern", mode: { pin: "2026-07-28" } },
];

describe.each(eras)("the official client, version 2, $name, and a Worker (I2)", ({ name, mode }) => {
  const session = sessionFor(() => openV2(new TransportV2(endpoint()), mode));
  behavesInEveryEra(session);
  isAsked(session);
  if (name === "legacy") behavesInSessions(session);
});
