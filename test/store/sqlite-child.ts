// A process on the file of another one. Does what each line says, and answers with a line of JSON.
import { createInterface } from "node:readline";
import { setImmediate as turn } from "node:timers/promises";
import { openStore } from "../../src/store/node/index.ts";

const [path = "", mode = "serve"] = process.argv.slice(2);
const store = await openStore(`sqlite:${path}`);

const answer = (value: unknown): void => {
  process.stdout.write(`${JSON.stringify(value ?? null)}\n`);
};

/** What can be asked for, each with one text. */
const commands: Readonly<Record<string, (text: string) => unknown>> = {
  acquire: async (name) => (await store.leases.acquire(name, 600_000))?.token,
  acquireShortly: async (name) => (await store.leases.acquire(name, 500))?.token,
  publish: (text) => store.topics.publish("from child", text),
  async add(count) {
    const sums: number[] = [];
    for (let i = 0; i < Number(count); i++) {
      sums.push(await store.values.add("sum", 1, 600_000));
      await turn();
    }
    return sums;
  },
  /** Counts up a value that others count up too. */
  async countUp(count) {
    for (let done = 0; done < Number(count); await turn()) {
      const { text, version } = (await store.values.get("count")) ?? { text: "0", version: null };
      if ((await store.values.put("count", `${Number(text) + 1}`, { version })) !== undefined) done++;
    }
    return Number(count);
  },
  async appendFifties(count) {
    const texts = Array.from({ length: 50 }, (_, i) => `text ${i}`);
    for (let i = 0; i < Number(count); i++) {
      await store.streams.append("fifties", texts);
      await turn();
    }
    return "appended";
  },
  async race(count) {
    const won: number[] = [];
    for (let i = 0; i < Number(count); i++) {
      if ((await store.leases.acquire(`race ${i}`, 600_000)) !== undefined) won.push(i);
      await turn();
    }
    return won;
  },
  /** Answers when it listens, and then with every message. */
  async listen(topic) {
    const subscription = await store.topics.subscribe(topic);
    void (async () => {
      for await (const message of subscription) answer(message);
    })();
    return "listening";
  },
  /** Writes for ever, and tells what was acknowledged. */
  async write() {
    await store.leases.acquire("written", 600_000);
    for (let i = 1; ; i++) {
      await store.values.put(`written ${i}`, `text ${i}`);
      await store.streams.append("written", [`text ${i}`]);
      answer(i);
      await turn();
    }
  },
};

if (mode === "serve") {
  answer("ready");
  for await (const line of createInterface(process.stdin)) {
    const [command = "", text = ""] = line.split(" ", 2);
    answer(await commands[command]?.(text));
  }
} else {
  // Nothing but a subscription and the timers of the store: the process ends.
  await store.topics.subscribe("a");
}
