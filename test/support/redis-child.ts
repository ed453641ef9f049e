import { promised } from "../../src/std/awaitable.ts";
import { redisStore } from "../../src/store/node/redis-store.ts";

// Uses a store and closes it. Nothing here ends the process: it ends when nothing is open.

const [url = ""] = process.argv.slice(2);

const store = await redisStore(url, { prefix: "child", waitMs: 2_000 });
const subscription = await store.topics.subscribe("a");
await store.topics.publish("a", "message");
await store.values.put("a", "1", { group: "g" });
await store.leases.acquire("a", 60_000);
for await (const message of subscription) {
  console.log(message.kind);
  break;
}

// The parent may take Redis away here.
const next = process.argv.includes("--wait") ? await new Promise((resolve) => process.once("message", resolve)) : "on";
const answer = await promised(() => store.values.get("a")).then(
  (value) => value?.text,
  (error: { code: string }) => error.code,
);
console.log(next, answer);
if (process.connected) process.disconnect();
await store.close();
console.log("closed");
