import assert from "node:assert/strict";
import type { ContractCases } from "./cases.ts";
import { equal, isTrue, next, readAll, rejects, strangeNames } from "./support.ts";

export const topicCases: ContractCases = {
  async "delivers once and in order what is published after subscribing, to every subscriber of every handle"({
    store,
    second,
  }) {
    await store.topics.publish("a", "nobody hears this");
    const subscriptions = [
      await store.topics.subscribe("a"),
      await store.topics.subscribe("a"),
      await second.topics.subscribe("a"),
    ];
    const texts = Array.from({ length: 300 }, (_, i) => `message ${i}`);
    for (const [i, text] of texts.entries()) await (i % 3 === 0 ? second : store).topics.publish("a", text);
    await store.topics.publish("a", "end");
    for (const subscription of subscriptions) equal(await next(subscription, 301), [...texts, "end"]);
  },

  async "delivers each message once when many are published at once"({ store, second }) {
    const subscription = await second.topics.subscribe("a");
    const texts = Array.from({ length: 100 }, (_, i) => `message ${i}`);
    await Promise.all(texts.map((text, i) => (i % 2 === 0 ? store : second).topics.publish("a", text)));
    await store.topics.publish("a", "end");
    const read = await next(subscription, 101);
    equal(read.toSorted(), [...texts, "end"].toSorted());
    equal(read.at(-1), "end");
  },

  async "wakes a reader that waits"({ store, second }) {
    const subscription = await store.topics.subscribe("a");
    for (const text of ["1", "2"]) {
      const read = next(subscription, 1);
      await second.topics.publish("a", text);
      equal(await read, [text]);
    }
  },

  async "delivers to who subscribes later only what comes later"({ store, second }) {
    const early = await store.topics.subscribe("a");
    await second.topics.publish("a", "1");
    const late = [await store.topics.subscribe("a"), await second.topics.subscribe("a")];
    await second.topics.publish("a", "2");
    equal(await next(early, 2), ["1", "2"]);
    for (const subscription of late) equal(await next(subscription, 1), ["2"]);
  },

  async "takes any text of up to 512 characters as a topic, keeps topics apart, and texts as they are"({
    store,
    second,
  }) {
    const subscriptions = await Promise.all(strangeNames.map((name) => second.topics.subscribe(name)));
    for (const name of strangeNames) await store.topics.publish(name, `\0text of ${name}`);
    for (const name of strangeNames) await store.topics.publish(name, "end");
    for (const [i, subscription] of subscriptions.entries()) {
      equal(await next(subscription, 2), [`\0text of ${strangeNames[i]}`, "end"]);
    }
    await rejects(() => store.topics.publish("x".repeat(513), "1"), "invalid");
    await rejects(() => store.topics.subscribe("x".repeat(513)), "invalid");
  },

  async "delivers empty and large texts"({ store, second }) {
    const subscription = await second.topics.subscribe("a");
    const texts = ["", "x".repeat(1_048_576)];
    for (const text of texts) await store.topics.publish("a", text);
    const read = await next(subscription, 2);
    equal(
      read.map((text, i) => text === texts[i]),
      [true, true],
    );
  },

  async "ends the reading of a subscription that is closed, and of no other"({ store }) {
    const [closed, other] = [await store.topics.subscribe("a"), await store.topics.subscribe("a")];
    const reading = readAll(closed);
    await closed.close();
    equal(await reading, []);
    await closed.close();
    await closed[Symbol.asyncDispose]();
    await store.topics.publish("a", "1");
    equal(await readAll(closed), []);
    equal(await next(other, 1), ["1"]);
  },

  async "gives who is too far behind a gap in the place of what it missed"({ store, second, place }) {
    const subscription = await second.topics.subscribe("a");
    const end = (place.tooManyMessages ?? 10_001) + 1;
    for (let i = 1; i <= end; i++) await store.topics.publish("a", `${i}`);

    const missed: number[] = [];
    let [last, afterGap] = [0, false];
    for await (const message of subscription) {
      const position = message.kind === "gap" ? undefined : Number(message.text);
      if (position !== undefined && position !== last + 1) {
        if (!afterGap || position <= last) assert.fail(`${position} came after ${last}`);
        missed.push(position - last - 1);
      }
      last = position ?? last;
      afterGap = position === undefined;
      if (last === end) break;
    }
    isTrue(missed.length > 0);
    await store.topics.publish("a", "after");
    equal(await next(subscription, 1), ["after"]);
  },
};
