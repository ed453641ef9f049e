import { randomUUID } from "node:crypto";
import { describe, it } from "vitest";
import type { Client, ConnectOptions } from "../../src/connect/index.ts";
import { everythingHere, testMatrix } from "./support/built.ts";
import { createLog, type Log } from "./support/events.ts";
import { everything } from "./support/places.ts";

// One handler, asked for in every revision, in this process and over stdio. It
// cannot tell the difference, and neither can who calls it.

const ways = testMatrix({ server: await everythingHere(), command: everything });

/** Who answers questions, and writes down everything that happens. */
function witness(overrides: ConnectOptions = {}): { readonly events: Log<string>; readonly options: ConnectOptions } {
  const events = createLog<string>();
  const options: ConnectOptions = {
    onElicit({ message, requestedSchema }) {
      events.add(`form: ${message} ${Object.keys(requestedSchema.properties ?? {})}`);
      return { name: "Ada" };
    },
    onSample({ messages, maxTokens }) {
      const [{ content } = { content: [] }] = messages;
      const [block] = [content].flat();
      events.add(`sample: ${block?.type === "text" ? block.text : "?"} ${maxTokens}`);
      return { model: "parrot", role: "assistant", content: { type: "text", text: "Polly" } };
    },
    onLog: ({ level, data }) => events.add(`${level}: ${data}`),
    onNotification: ({ method }) => events.add(method),
    onWarning: ({ message }) => events.add(`warning: ${message}`),
    ...overrides,
  };
  return { events, options };
}

interface Journey {
  readonly ask: "user" | "model";
  readonly stops: number;
  readonly signal?: AbortSignal;
}

/** Makes the journey and gives what the tool says at its end. */
async function journey(client: Client, events: Log<string>, { ask, stops, signal }: Journey): Promise<string> {
  const args = { id: randomUUID(), ask, stops: Array.from({ length: stops }, (_, index) => `stop ${index}`) };
  const onProgress = (progress: object): void => events.add(JSON.stringify(progress));
  const { content, isError } = await client.callTool("journey", args, { onProgress, signal });
  return `${isError ? "failed: " : ""}${content.map((block) => ("text" in block ? block.text : "?")).join("")}`;
}

const arrived = (traveller: string) => JSON.stringify({ traveller, stops: 3, departures: 1 });
const progressed = [1, 2, 3].map((progress) => JSON.stringify({ progress, total: 3 }));

describe.concurrent.each(ways)("$name", ({ connect, revision }) => {
  it("asks the model, logs and reports progress", async ({ expect }) => {
    const { events, options } = witness();
    await using client = await connect(options);
    expect(client.revision).toBe(revision);
    expect(await journey(client, events, { ask: "model", stops: 3 })).toBe(arrived("Polly"));
    expect(events.items).toEqual(["sample: Who travels? 100", "info: Polly departs", ...progressed]);
  });

  it("says what it needs when nobody can be asked", async ({ expect }) => {
    await using client = await connect();
    await expect(journey(client, createLog(), { ask: "model", stops: 1 })).rejects.toMatchObject({
      code: "missing-capability",
      data: { requiredCapabilities: { sampling: {} } },
    });
  });

  it("stops on the way, and says no more", async ({ expect }) => {
    const { events, options } = witness();
    await using client = await connect(options);
    const abort = new AbortController();
    const trip = journey(client, events, { ask: "model", stops: 10_000, signal: abort.signal });
    trip.catch(() => {});
    await events.count(4);
    abort.abort("tired");
    const before = [...events.items];
    await expect(trip).rejects.toMatchObject({ code: "cancelled", cause: "tired" });
    await client.callTool("echo", { message: "still there?" });
    expect(events.items).toEqual(before);
    expect(before.slice(0, 4)).toEqual([
      "sample: Who travels? 100",
      "info: Polly departs",
      ...[1, 2].map((progress) => JSON.stringify({ progress, total: 10_000 })),
    ]);
  });

  it("tells whoever is being asked that nobody waits any more", async ({ expect }) => {
    const asked = createLog<AbortSignal>();
    const { events, options } = witness({
      onSample: (_params, { signal }) => {
        asked.add(signal);
        return new Promise(() => {});
      },
    });
    await using client = await connect(options);
    const abort = new AbortController();
    const trip = journey(client, events, { ask: "model", stops: 1, signal: abort.signal });
    trip.catch(() => {});
    const [signal] = await asked.count(1);
    const unwanted = new Promise((resolve) => signal?.addEventListener("abort", resolve));
    abort.abort("tired");
    await expect(trip).rejects.toMatchObject({ code: "cancelled", cause: "tired" });
    await unwanted;
    expect(events.items).toEqual([]);
  });

  it("asks the user, logs and reports progress", async ({ expect }) => {
    const { events, options } = witness();
    await using client = await connect(options);
    expect(await journey(client, events, { ask: "user", stops: 3 })).toBe(arrived("Ada"));
    expect(events.items).toEqual(["form: Who travels? name", "info: Ada departs", ...progressed]);
  });

  it("hears that the user says no", async ({ expect }) => {
    const { events, options } = witness({ onElicit: () => ({ action: "decline" }) });
    await using client = await connect(options);
    expect(await journey(client, events, { ask: "user", stops: 3 })).toBe("failed: the user declined: Who travels?");
    expect(events.items).toEqual([]);
  });
});
