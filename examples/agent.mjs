// A model that uses the tools of two servers. The model is a script here; a bridge makes one of the API of a provider.
import { runTools } from "plugbay/agent";
import { openHost } from "plugbay/host";
import { createServer, tool } from "plugbay/server";

const input = /** @type {const} */ ({ type: "object", properties: { sku: { type: "string" } }, required: ["sku"] });
const shop = createServer({
  name: "shop",
  version: "1.0.0",
  tools: { price: tool({ description: "The price of an item", input, run: ({ sku }) => `${sku} costs 5 euros` }) },
});
const stock = createServer({
  name: "stock",
  version: "1.0.0",
  tools: {
    count: tool({ description: "How many there are of an item", input, run: ({ sku }) => `3 of ${sku} are left` }),
  },
});

/** Asks for both tools at once, then sums up what they said. */
async function model({ messages }) {
  const last = messages.at(-1).content;
  if (!Array.isArray(last)) {
    const use = (id, name) => ({ type: "tool_use", id, name, input: { sku: "hammer" } });
    const content = [use("1", "shop:price"), use("2", "stock:count")];
    return { role: "assistant", content, model: "scripted", stopReason: "toolUse" };
  }
  return last.map(({ content: [block] }) => block.text).join(", and ");
}

const host = await openHost({ shop, stock });
const { text, turns, calls } = await runTools({
  model,
  messages: "What about the hammer?",
  tools: host,
  onEvent(event) {
    if (event.kind === "call") console.log(`calls ${event.name} with ${JSON.stringify(event.input)}`);
    if (event.kind === "result") console.log(`${event.name} took ${Math.round(event.tookMs)} ms`);
  },
});
console.log(`${text} (${turns} turns, ${calls} calls)`);
await host.close();
