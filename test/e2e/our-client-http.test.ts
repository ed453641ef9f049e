import { describe, expect, it } from "vitest";
import { modest, offersEverything } from "./support/everything-server.ts";
import {
  announces,
  answers,
  asks,
  forgetsTheLevel,
  logs,
  reportsProgress,
  version1,
  version2,
} from "./support/official-server.ts";
import { script } from "./support/places.ts";
import { serve, serveEverything } from "./support/serving.ts";
import { call, openTalk, type Talk, talkWith } from "./support/talk.ts";

// Our client over HTTP against servers made with both versions of the official
// SDK, and against the official server with everything. What they are is found
// out from the URL alone.

const [v1, v2, everything, everythingOld] = await Promise.all([
  serve(script("test/fixtures/official-v1-server.mjs", "--port", "0")),
  serve(script("test/fixtures/official-v2-server.mjs", "--port", "0")),
  serveEverything("streamableHttp"),
  serveEverything("sse"),
]);

type Behaviour = (talk: () => Talk) => void;

const everyBehaviour: readonly Behaviour[] = [reportsProgress, asks, announces, logs];

describe.each([
  { path: "/mcp", name: "negotiated", revision: "2026-07-28", options: {}, more: everyBehaviour },
  {
    path: "/mcp",
    name: "pinned to modern",
    revision: "2026-07-28",
    options: { revision: "2026-07-28" },
    more: everyBehaviour,
  },
  {
    path: "/mcp",
    name: "pinned to legacy, which has no sessions",
    revision: "2025-11-25",
    options: { revision: "2025-11-25" },
    more: [reportsProgress, forgetsTheLevel],
  },
  { path: "/sessions", name: "in a session", revision: "2025-11-25", options: {}, more: everyBehaviour },
  {
    path: "/sessions",
    name: "in an older session",
    revision: "2025-03-26",
    options: { revision: "2025-03-26" },
    more: everyBehaviour,
  },
  // There is no stream that could bring what belongs to a call.
  { path: "/json", name: "in a session without streams", revision: "2025-11-25", options: {}, more: [announces] },
] as const)("the official server of version 2 at $path, $name", ({ path, revision, options, more }) => {
  const talk = talkWith(`${v2.url}${path}`, options);

  it(`speaks ${revision}`, () => {
    expect(talk().client.revision).toBe(revision);
  });

  answers(talk, version2);
  for (const behaviour of more) behaviour(talk);
});

describe.each([
  { path: "/mcp", revision: "2025-11-25", options: {}, more: everyBehaviour },
  { path: "/mcp", revision: "2025-06-18", options: { revision: "2025-06-18" }, more: everyBehaviour },
  { path: "/stateless", revision: "2025-11-25", options: {}, more: [reportsProgress] },
  { path: "/sse", revision: "2025-11-25", options: {}, more: everyBehaviour },
  { path: "/sse", revision: "2024-11-05", options: { revision: "2024-11-05" }, more: everyBehaviour },
] as const)(
  "the official server of version 1 at $path, which speaks $revision",
  ({ path, revision, options, more }) => {
    const talk = talkWith(`${v1.url}${path}`, options);

    it(`speaks ${revision} (I7)`, () => {
      expect(talk().client.revision).toBe(revision);
    });

    answers(talk, version1);
    for (const behaviour of more) behaviour(talk);
  },
);

describe.each([
  { transport: "streamable HTTP", url: `${everything.url}/mcp`, revision: "2025-11-25" },
  { transport: "HTTP+SSE", url: `${everythingOld.url}/sse`, revision: "2025-11-25" },
])("the official server with everything, over $transport", ({ url, revision }) => {
  const talk = talkWith(url, modest);

  it(`speaks ${revision} (I7)`, () => {
    const { client } = talk();
    expect(client.revision).toBe(revision);
    expect(client.server.serverInfo).toMatchObject({ name: "mcp-servers/everything" });
  });

  offersEverything(talk);
});

describe("a legacy client of a server that keeps nothing", () => {
  it("is told why it cannot be asked", async () => {
    await using talk = await openTalk(`${v2.url}/mcp`, { revision: "2025-11-25" });
    const { content, isError } = await talk.client.callTool("greet");
    expect(isError).toBe(true);
    expect(JSON.stringify(content)).toContain("cannot receive server-to-client requests");
  });

  it("can leave a call whose question it answered to somebody else", async () => {
    const abort = new AbortController();
    await using talk = await openTalk(`${v1.url}/stateless`, {
      onElicit: () => {
        queueMicrotask(() => abort.abort("enough"));
        return { name: "Ada" };
      },
    });
    const greeting = talk.client.callTool("greet", {}, { signal: abort.signal });
    await expect(greeting).rejects.toMatchObject({ code: "cancelled", cause: "enough" });
    expect(await call(talk.client, "echo", { message: "still here" })).toBe("still here");
  });
});

describe("a server at a URL whose user says no", () => {
  it.each(["decline", "cancel"] as const)("by %s", async (action) => {
    for (const url of [`${v1.url}/mcp`, `${v1.url}/sse`, `${v2.url}/mcp`, `${v2.url}/sessions`]) {
      await using talk = await openTalk(url, { onElicit: () => ({ action }) });
      expect(await call(talk.client, "greet")).toBe(`You said ${action}.`);
    }
  });
});
