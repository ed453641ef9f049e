import { describe, expect, it } from "vitest";
import { createSharedSubscriptions } from "./listeners.ts";

/** Subscriptions whose requests the test answers, in whatever order. */
function setUp() {
  const sent: string[] = [];
  const answers: { resolve(): void; reject(error: Error): void }[] = [];
  const subscriptions = createSharedSubscriptions((method, params) => {
    sent.push(`${method.slice("resources/".length)} ${params.uri}`);
    return new Promise<void>((resolve, reject) => {
      answers.push({ resolve, reject });
    });
  });
  const settled = () => new Promise((resolve) => setTimeout(resolve, 0));
  return { subscriptions, sent, answers, settled };
}

describe("shared subscriptions", () => {
  it("are one on the wire, from the first who joins to the last who leaves", async () => {
    const { subscriptions, sent, answers, settled } = setUp();
    const shares = [subscriptions.join("a"), subscriptions.join("a"), subscriptions.join("a")];
    answers[0]?.resolve();
    await Promise.all(shares.map(({ confirmed }) => confirmed));
    shares[1]?.leave();
    shares[0]?.leave();
    await settled();
    expect(sent).toEqual(["subscribe a"]);
    shares[2]?.leave();
    await settled();
    expect(sent).toEqual(["subscribe a", "unsubscribe a"]);
  });

  it("of different resources have nothing to do with each other", async () => {
    const { subscriptions, sent, answers, settled } = setUp();
    const a = subscriptions.join("a");
    subscriptions.join("b");
    answers[0]?.resolve();
    a.leave();
    await settled();
    expect(sent).toEqual(["subscribe a", "subscribe b", "unsubscribe a"]);
  });

  it("are confirmed to late joiners by the same answer", async () => {
    const { subscriptions, answers, settled } = setUp();
    subscriptions.join("a");
    let confirmed = false;
    void subscriptions.join("a").confirmed.then(() => {
      confirmed = true;
    });
    await settled();
    expect(confirmed).toBe(false);
    answers[0]?.resolve();
    await settled();
    expect(confirmed).toBe(true);
  });

  it("are unsubscribed only after they were confirmed", async () => {
    const { subscriptions, sent, answers, settled } = setUp();
    subscriptions.join("a").leave();
    await settled();
    expect(sent).toEqual(["subscribe a"]);
    answers[0]?.resolve();
    await settled();
    expect(sent).toEqual(["subscribe a", "unsubscribe a"]);
  });

  it("stay when somebody joins again in time", async () => {
    const { subscriptions, sent, answers, settled } = setUp();
    const first = subscriptions.join("a");
    answers[0]?.resolve();
    await settled();
    first.leave();
    const second = subscriptions.join("a");
    answers[1]?.resolve();
    await settled();
    expect(sent).toEqual(["subscribe a", "subscribe a"]);
    second.leave();
    await settled();
    expect(sent).toEqual(["subscribe a", "subscribe a", "unsubscribe a"]);
  });

  it("that were refused fail everybody, are not unsubscribed, and can be tried again", async () => {
    const { subscriptions, sent, answers, settled } = setUp();
    const shares = [subscriptions.join("a"), subscriptions.join("a")];
    answers[0]?.reject(new Error("no"));
    for (const { confirmed } of shares) await expect(confirmed).rejects.toThrow("no");
    const again = subscriptions.join("a");
    for (const { leave } of shares) leave();
    answers[1]?.resolve();
    await expect(again.confirmed).resolves.toBeUndefined();
    await settled();
    expect(sent).toEqual(["subscribe a", "subscribe a"]);
  });

  it("that are refused too late take nothing from those who came after", async () => {
    const { subscriptions, sent, answers, settled } = setUp();
    const first = subscriptions.join("a");
    first.leave();
    subscriptions.join("a");
    answers[0]?.reject(new Error("no"));
    answers[1]?.resolve();
    await settled();
    subscriptions.join("a");
    expect(sent).toEqual(["subscribe a", "subscribe a"]);
  });

  it("that cannot be given up are nobody's problem", async () => {
    const { subscriptions, sent, answers, settled } = setUp();
    const share = subscriptions.join("a");
    answers[0]?.resolve();
    await share.confirmed;
    share.leave();
    await settled();
    answers[1]?.reject(new Error("gone"));
    await settled();
    subscriptions.join("a");
    expect(sent).toEqual(["subscribe a", "unsubscribe a", "subscribe a"]);
  });
});
