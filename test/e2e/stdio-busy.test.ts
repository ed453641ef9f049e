import { expect, it } from "vitest";
import type { JsonObject } from "../../src/json/json.ts";
import { until } from "../fixtures/children/processes.ts";
import { modern } from "../support/served.ts";
import { connect } from "./support/built.ts";
import { script } from "./support/places.ts";
import { startRaw } from "./support/raw-peer.ts";

const server = script("test/fixtures/children/busy-server.mjs");

const request = (id: string | number, method: string, params: JsonObject = {}): JsonObject => ({
  jsonrpc: "2.0",
  id,
  method,
  params,
});

it("a server with 64 calls that run and 900 that wait reads cancellations, answers and pings (P5)", async () => {
  const peer = await startRaw(server);
  const clientInfo = { name: "raw", version: "0" };
  await peer.request("initialize", { protocolVersion: "2025-11-25", capabilities: { roots: {} }, clientInfo });
  await peer.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  await peer.send(request("ask", "tools/call", { name: "ask", arguments: {} }));
  const question = await peer.heard.find(({ method }) => method === "roots/list");
  for (let n = 1; n <= 964; n++) await peer.send(request(n, "tools/call", { name: "hold", arguments: { n } }));
  await until(() => peer.stderr().includes("held 64\n"));

  expect(await peer.request("ping")).toMatchObject({ result: {} });
  await peer.send({ jsonrpc: "2.0", id: question.id as number, result: { roots: [{ uri: "file:///a" }] } });
  expect(await peer.answer("ask")).toMatchObject({ result: { content: [{ text: "1 roots" }] } });
  await peer.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } });
  await until(() => peer.stderr().includes("cancelled 7\n"));
  // The place of the one that was cancelled goes to the first of those that waited.
  await until(() => peer.stderr().includes("held 65\n"));
});

it("a server of 2026-07-28 with 64 calls that run and 900 that wait reads cancellations and requests (P5)", async () => {
  const peer = await startRaw(server);
  const hold = (n: number) => request(n, "tools/call", modern({ name: "hold", arguments: { n } }));
  for (let n = 0; n < 964; n++) await peer.send(hold(n));
  await until(() => peer.stderr().includes("held 63\n"));

  expect(await peer.request("server/discover", modern({}))).toMatchObject({ result: { resultType: "complete" } });
  const cancel = (requestId: number) =>
    peer.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } });
  // One that waits and would be the next to run, then one that runs.
  await cancel(64);
  await cancel(7);
  await until(() => peer.stderr().includes("cancelled 7\n"));
  await until(() => peer.stderr().includes("held 65\n"));
  expect(peer.stderr()).not.toContain("held 64\n");
});

it("a client with 1,000 calls open still pings, and cancels what it likes (P5)", async () => {
  let said = "";
  const stderr = (text: string): void => {
    said += text;
  };
  await using client = await connect({ ...server, stderr }, { revision: "2025-11-25" });
  const abort = new AbortController();
  const calls = Array.from({ length: 1_000 }, (_, n) =>
    client.callTool("hold", { n }, n === 7 ? { signal: abort.signal } : {}).catch(({ code }) => code),
  );
  await until(() => said.includes("held 63\n"));
  await client.ping();
  abort.abort();
  expect(await calls[7]).toBe("cancelled");
  await until(() => said.includes("cancelled 7\n"));
  await client.close();
  expect(new Set(await Promise.all(calls))).toEqual(new Set(["cancelled", "connection-closed"]));
});
