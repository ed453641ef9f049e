import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createManualClock } from "../../testing/clock.ts";
import type { TopicSubscription } from "../store.ts";
import { createHub, type TopicMessage, type TopicPage } from "./redis-topics.ts";

const PAGE = 3;

/** What may happen: messages that come by the channel or do not, checks, who joins, and what Redis forgets. */
type Step =
  | { readonly kind: "publish"; readonly heard: boolean; readonly twice: boolean }
  | { readonly kind: "check" | "join" | "forget" | "fail" | "wait" };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant("publish" as const), heard: fc.boolean(), twice: fc.boolean() }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom("check" as const, "join" as const, "wait" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("forget" as const, "fail" as const) }) },
);

/** Plays the steps, and gives what everybody read: with the number of messages there were when it started. */
async function play(steps: readonly Step[]): Promise<{ reads: readonly Read[]; published: number; forgot: boolean }> {
  const clock = createManualClock();
  const [stored, listeners]: [TopicMessage[], { from: number; subscription: TopicSubscription }[]] = [[], []];
  let [newest, published, forgot, failing] = [1_000, 0, false, false];
  const read = async (id: number): Promise<TopicPage> => {
    const messages = stored.filter((message) => message.id > id).slice(0, PAGE);
    const page = { newest, messages, more: messages.length === PAGE };
    await wait();
    if (failing) throw new Error("no connection");
    return page;
  };
  const hub = createHub({ clock, read, onEmpty: () => {} });
  const join = async (): Promise<void> => {
    const listener = hub.join();
    const [id, from] = [newest, published];
    await wait();
    listener.start(id);
    listeners.push({ from, subscription: listener.subscription });
  };

  const publish = (times: number): void => {
    const message = { id: newest + 1 + (published % 3), previous: newest, text: String(published++) };
    newest = message.id;
    stored.push(message);
    for (let i = 0; i < times; i++) hub.hear(message);
  };

  await join();
  for (const current of steps) {
    if (current.kind === "publish") publish(current.heard ? (current.twice ? 2 : 1) : 0);
    else if (current.kind === "check") hub.check();
    else if (current.kind === "join") void join();
    else if (current.kind === "forget") {
      forgot = true;
      stored.splice(0, Math.ceil(stored.length / 2));
    } else if (current.kind === "fail") failing = true;
    else await wait();
  }
  publish(1);
  await wait();
  failing = false;
  for (let i = 0; i < steps.length + 10; i++) {
    await wait();
    clock.advance(1_000);
  }
  hub.end();
  return { reads: await Promise.all(listeners.map(readAll)), published, forgot };
}

interface Read {
  readonly from: number;
  readonly texts: readonly (string | null)[];
}

async function readAll({ from, subscription }: { from: number; subscription: TopicSubscription }): Promise<Read> {
  const texts: (string | null)[] = [];
  for await (const message of subscription) texts.push(message.kind === "gap" ? null : message.text);
  return { from, texts };
}

function wait(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

describe("a topic in Redis", () => {
  it("is delivered once, in order and completely, or with a gap where something is missing", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const { reads, published, forgot } = await play(steps);
        for (const { from, texts } of reads) {
          let next = from;
          let gap = false;
          for (const text of texts) {
            if (text === null) gap = true;
            else {
              if (gap) expect(Number(text)).toBeGreaterThanOrEqual(next);
              else expect(Number(text)).toBe(next);
              [next, gap] = [Number(text) + 1, false];
            }
          }
          if (!gap) expect(next).toBe(published);
          if (!forgot) expect(texts).not.toContain(null);
        }
      }),
      { numRuns: 300 },
    );
  });
});
