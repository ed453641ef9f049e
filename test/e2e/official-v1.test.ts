import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, describe, expect, it } from "vitest";
import { isRunning, until } from "../fixtures/children/processes.ts";
import { behavesInEveryEra, behavesInSessions } from "./support/behaviours.ts";
import { everythingHere, serveHttp } from "./support/built.ts";
import { sessionFor } from "./support/official.ts";
import { openV1 } from "./support/official-v1.ts";
import { everything } from "./support/places.ts";
import { isAsked } from "./support/questions.ts";

// The client of the official SDK, version 1, against our server: in a child
// process over stdio, in this one over HTTP.

const plain = await serveHttp(await everythingHere(), { port: 0, sse: true });
const streaming = await serveHttp(await everythingHere(), { port: 0, respondWith: "sse" });
afterAll(() => Promise.all([plain.close(), streaming.close()]));

const overStdio = () => new StdioClientTransport({ ...everything, stderr: "ignore" });

describe.each([
  { way: "stdio", transport: overStdio },
  { way: "HTTP", transport: () => new StreamableHTTPClientTransport(new URL(plain.url)) },
  { way: "HTTP that always streams", transport: () => new StreamableHTTPClientTransport(new URL(streaming.url)) },
  { way: "HTTP+SSE", transport: () => new SSEClientTransport(new URL("/sse", plain.url)) },
])("the official client, version 1, over $way", ({ transport }) => {
  const session = sessionFor(() => openV1(transport()));

  behavesInEveryEra(session);
  isAsked(session);
  behavesInSessions(session);

  it("has an error of its own for a missing resource", async () => {
    const uri = "test://nothing";
    await expect(session().client.readResource({ uri })).rejects.toMatchObject({ code: -32002, data: { uri } });
  });
});

it("leaves no process behind", async () => {
  const transport = overStdio();
  const { client } = await openV1(transport);
  const pid = transport.pid ?? 0;
  expect(isRunning(pid)).toBe(true);
  await client.close();
  // It does not wait for a process that it had to kill.
  await until(() => !isRunning(pid));
});
