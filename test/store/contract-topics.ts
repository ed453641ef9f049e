import { expect, it } from "vitest";
import type { Fixture } from "./contract.ts";
import { next, readAll, rejects, strangeNames } from "./support.ts";

export function topicContract(fixture: () => Fixture): void {
  it("delivers once and in order what is published after subscribing, to every subscriber of every handle", async () => {
    const { store, second } = fixture();
    await store.topics.publish("a", "nobody hears this");
    const subscriptions = [
      await store.topics.subscribe("a"),
      await store.topics.subscribe("a"),
      await second.topics.subscribe("a"),
    ];
    const texts = Array.from({ length: 300 }, (_, i) => `message ${i}`);
    for (const [i, text] of texts.entries()) await (i % 3 === 0 ? second : store).topics.publish("a", text);
    await store.topics.publish("a", "end");
    for (const subscription of subscriptions) expect(await next(subscription, 301)).toEqual([...texts, "end"]);
  });

  it("delivers each message once when many are published at once", async () => {
    const { store, second } = fixture();
    const subscription = await second.topics.subscribe("a");
    const texts = Array.from({ length: 100 }, (_, i) => `message ${i}`);
    await Promise.all(texts.map((text, i) => (i % 2 === 0 ? store : second).topics.publish("a", text)));
    await store.topics.publish("a", "end");
    const read = await next(subscription, 101);
    expect(read.toSorted()).toEqual([...texts, "end"].toSorted());
    expect(read.at(-1)).toBe("end");
  });

  it("wakes a reader that waits", async () => {
    const { store, second } = fixture();
    const subscription = await store.topics.subscribe("a");
    for (const text of ["1", "2"]) {
      const read = next(subscription, 1);
      await second.topics.publish("a", text);
      expect(await read).toEqual([text]);
    }
  });

  it("delivers to who subscribes later only what comes later", async () => {
    const { store, second } = fixture();
    const early = await store.topics.subscribe("a");
    await second.topics.publish("a", "1");
    const late = [await store.topics.subscribe("a"), await second.topics.subscribe("a")];
    await second.topics.publish("a", "2");
    expect(await next(early, 2)).toEqual(["1", "2"]);
    for (const subscription of late) expect(await next(subscription, 1)).toEqual(["2"]);
  });

  it("takes any text of up to 512 characters as a topic, keeps topics apart, and texts as they are", async () => {
    const { store, second } = fixture();
    const subscriptions = await Promise.all(strangeNames.map((name) => second.topics.subscribe(name)));
    for (const name of strangeNames) await store.topics.publish(name, `\0text of ${name}`);
    for (const name of strangeNames) await store.topics.publish(name, "end");
    for (const [i, subscription] of subscriptions.entries()) {
      expect(await next(subscription, 2)).toEqual([`\0text of ${strangeNames[i]}`, "end"]);
    }
    await rejects(() => store.topics.publish("x".repeat(513), "1"), "invalid");
    await rejects(() => store.topics.subscribe("x".repeat(513)), "invalid");
  });

  it("delivers empty and large texts", async () => {
    const { store, second } = fixture();
    const subscription = await second.topics.subscribe("a");
    const texts = ["", "x".repeat(1_048_576)];
    for (const text of texts) await store.topics.publish("a", text);
    const read = await next(subscription, 2);
    expect(read.map((text, i) => text === texts[i])).toEqual([true, true]);
  });

  it("ends the reading of a subscription that is closed, and of no other", async () => {
    const { store } = fixture();
    const [closed, other] = [await store.topics.subscribe("a"), await store.topics.subscribe("a")];
    const reading = readAll(closed);
    await closed.close();
    expect(await reading).toEqual([]);
    await closed.close();
    await closed[Symbol.asyncDispose]();
    await store.topics.publish("a", "1");
    expect(await readAll(closed)).toEqual([]);
    expect(await next(other, 1)).toEqual(["1"]);
  });

  it("gives who is too far behind a gap in the place of what it missed", async () => {
    const { store, second, place } = fixture();
    const subscription = await second.topics.subscribe("a");
    const end = place.tooManyMessages + 1;
    for (let i = 1; i <= end; i++) await store.topics.publish("a", `${i}`);

    const missed: number[] = [];
    let [last, afterGap] = [0, false];
    for await (const message of subscription) {
      const position = message.kind === "gap" ? undefined : Number(message.text);
      if (position !== undefined && position !== last + 1) {
        if (!afterGap || position <= last) expect.fail(`${position} came after ${last}`);
        missed.push(position - last - 1);
      }
      last = position ?? last;
      afterGap = position === undefined;
      if (last === end) break;
    }
    expect(missed.length).toBeGreaterThan(0);
    await store.topics.publish("a", "after");
    expect(await next(subscription, 1)).toEqual(["after"]);
  });
}
