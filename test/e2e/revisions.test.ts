import { type Client, StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createLog, type Log } from "./support/events.ts";
import { type Official, sampled } from "./support/official.ts";
import { openV1 } from "./support/official-v1.ts";
import { openV2 } from "./support/official-v2.ts";
import { type Sent, watchFetch } from "./support/over-http.ts";
import { script } from "./support/places.ts";
import { serve } from "./support/serving.ts";
import { speaking } from "./support/speaking.ts";

// One process serves a client of every revision there is, at the same time.

type Watched = ReturnType<typeof watchFetch>;

const old = (revision: string) => (url: URL, options: Watched) =>
  openV1(speaking(revision, new StreamableHTTPClientTransport(url, options)));

const openers: Readonly<Record<string, (url: URL, options: Watched) => Promise<Official>>> = {
  "2024-11-05": (url, options) => openV1(speaking("2024-11-05", new SSEClientTransport(new URL("/sse", url), options))),
  "2025-03-26": old("2025-03-26"),
  "2025-06-18": old("2025-06-18"),
  "2025-11-25": old("2025-11-25"),
  "2026-07-28": (url, options) => openV2(new TransportV2(url, options), { pin: "2026-07-28" }),
};

interface Speaker {
  readonly revision: string;
  readonly session: Official;
  readonly sent: Log<Sent>;
}

let speakers: readonly Speaker[] = [];

beforeAll(async () => {
  const { url } = await serve(script("test/fixtures/everything-server.mjs", "--port", "0"));
  const opening = Object.entries(openers).map(async ([revision, open]) => {
    const watched = watchFetch();
    return { revision, session: await open(new URL(url), watched), sent: watched.sent };
  });
  speakers = await Promise.all(opening);
});
afterAll(() => Promise.all(speakers.map(({ session }) => session.client.close())));

it("each speaks its own revision", async () => {
  for (const { revision, session, sent } of speakers) {
    await session.client.listTools();
    expect(sent.items.at(-1)?.headers.get("mcp-protocol-version")).toBe(revision);
  }
});

it("each is asked, all of them before the first has answered, and each gets its own answer", async () => {
  const asked = createLog<string>();
  const everybody = 2 * speakers.length;
  for (const { revision, session } of speakers) {
    session.fill = async ({ message }) => {
      asked.add(`${revision}: ${message}`);
      await asked.count(everybody);
      return { action: "accept", content: { answer: `the user of ${revision}` } };
    };
    session.sample = async () => {
      asked.add(`${revision}: sample`);
      await asked.count(everybody);
      return sampled(`the model of ${revision}`);
    };
  }

  // The oldest two know no forms, but a client that says it can show them is believed.
  const users = speakers.map(({ revision, session }) => session.call("ask", { topic: revision }));
  const models = speakers.map(({ session }) => session.call("test_sampling", { prompt: "Who are you?" }));
  expect(await Promise.all(users)).toEqual(speakers.map(({ revision }) => `You said: the user of ${revision}`));
  expect(await Promise.all(models)).toEqual(speakers.map(({ revision }) => `LLM response: the model of ${revision}`));
  const questions = speakers.flatMap(({ revision }) => [`${revision}: What about ${revision}?`, `${revision}: sample`]);
  expect([...asked.items].sort()).toEqual(questions.sort());
});

it("each hears of a change that one of them makes", async () => {
  const modern = speakers.at(-1)?.session.client as Client;
  const subscription = await modern.listen({ toolsListChanged: true });
  for (const [index, { session }] of speakers.entries()) {
    await session.call("bump");
    await Promise.all(speakers.map((speaker) => speaker.session.changes.count(index + 1)));
  }
  expect(speakers.map(({ session }) => session.changes.items)).toEqual(speakers.map(() => speakers.map(() => "tools")));
  await subscription.close();
});
