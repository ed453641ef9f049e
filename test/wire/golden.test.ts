import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { Client } from "../../src/client/client.ts";
import { connectBy } from "../../src/connect/connect.ts";
import { McpError } from "../../src/protocol/errors.ts";
import { type Revision, revisions } from "../../src/protocol/revision.ts";
import { createServer, prompt, resource, tool } from "../../src/server/index.ts";
import { diffTranscripts, parseTranscript, recordChannel, type Transcript } from "../../src/testing/transcript.ts";
import { createMemoryChannels } from "../../src/transport/memory-channels.ts";
import { openChannel } from "../../src/transport/open-channel.ts";
import { serveChannel } from "../../src/transport/serve-channel.ts";
import { gate } from "../support/served.ts";

// One client and one server do the same things in every revision. What goes
// over the wire is compared with `golden/<revision>.txt`, byte for byte; run
// with UPDATE_GOLDEN=1 to write those files anew, and read the difference.

describe.each(revisions)("the wire of %s", (revision) => {
  it("is as it was", async () => {
    const transcript = await record(revision);
    const file = fileURLToPath(new URL(`golden/${revision}.txt`, import.meta.url));
    const text = `# ${revision}: > is the client, < is the server\n${transcript.toText()}`;
    if (process.env.UPDATE_GOLDEN === "1") writeFileSync(file, text);
    const golden = readFileSync(file, "utf8");
    expect(diffTranscripts(transcript.lines, parseTranscript(golden))).toBeUndefined();
    expect(text).toBe(golden);
  });
});

/** Records the whole scenario, seen from the client. */
async function record(revision: Revision): Promise<Transcript> {
  const { server, started } = createShop();
  const [here, there] = createMemoryChannels();
  const serving = serveChannel(there, server);
  const channel = recordChannel(here, { mask: ["requestState", "taskId", "createdAt", "lastUpdatedAt"] });
  const client = await connectBy((opening) => openChannel(channel, opening), {
    revision,
    info: { name: "golden", title: "Golden", version: "1.0.0" },
    onElicit: () => ({ ok: true }),
    roots: [{ uri: "file:///home", name: "home" }],
    onLog() {},
  });
  await play(client, server, started);
  await client.close();
  await serving.ended;
  return channel;
}

function createShop() {
  const started = gate();
  const server = createServer({
    name: "shop",
    title: "Shop",
    version: "1.0.0",
    instructions: "Buy things.",
    subscribe: true,
    listChanged: true,
    logging: true,
    tools: {
      buy: tool({
        title: "Buy",
        description: "Buys something",
        input: { type: "object", properties: { sku: { type: "string" } }, required: ["sku"] },
        output: { type: "object", properties: { order: { type: "string" } }, required: ["order"] },
        annotations: { destructiveHint: true },
        run: ({ sku }, ctx) => {
          ctx.log("info", { sku });
          ctx.progress(1, 2, "packing");
          ctx.progress(2, 2, "shipping");
          return { order: `o-${sku}` };
        },
      }),
      confirm: tool({
        run: async (_, ctx) => {
          const schema = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] } as const;
          return (await ctx.ask("Really?", schema)).ok ? "confirmed" : "refused";
        },
      }),
      look: tool({ run: async (_, ctx) => (await ctx.roots()).map(({ uri }) => uri).join() }),
      wait: tool({
        run: (_, { signal }) => {
          started.open();
          return new Promise((resolve) => signal.addEventListener("abort", () => resolve("stopped")));
        },
      }),
      grow: tool({
        task: "required",
        run: (_, { signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve("grown"))),
      }),
    },
    prompts: { greet: prompt({ description: "Greets", get: () => "Say hello." }) },
    resources: [resource("stock://{sku}", { name: "stock", mimeType: "text/plain", read: ({ sku }) => `3 of ${sku}` })],
  });
  return { server, started };
}

async function play(
  client: Client,
  server: ReturnType<typeof createShop>["server"],
  started: ReturnType<typeof gate>,
): Promise<void> {
  await client.listTools();
  await client.callTool("buy", { sku: "A" }, { onProgress() {} });
  await attempt(client.callTool("confirm"));
  await client.callTool("look");
  await client.readResource("stock://A");
  await client.getPrompt("greet");
  await attempt(client.readResource("none://such"));
  await attempt(client.callTool("none"));
  await attempt(client.request("made/up"));
  await client.ping();

  const abort = new AbortController();
  const waiting = attempt(client.callTool("wait", {}, { signal: abort.signal }));
  await started.opened;
  abort.abort("not needed any more");
  await waiting;

  await attempt(grow(client));

  const watch = client.watch("stock://A");
  await watch.ready;
  server.resourceUpdated("stock://A");
  await watch[Symbol.asyncIterator]().next();
  await watch[Symbol.asyncDispose]();
  await settled();
}

/** Work that is followed for a while, and then ended. Where there are no tasks, it does not even start. */
async function grow(client: Client): Promise<void> {
  const task = await client.tasks.start("grow", {}, { ttlMs: 60_000 });
  await task.status();
  await task.cancel();
  await task.status();
}

/** Resolves when both ends have nothing left to say. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0);
  });
}

/** For what may fail, and must not break off the scenario. */
async function attempt(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof McpError)) throw error;
  }
}
