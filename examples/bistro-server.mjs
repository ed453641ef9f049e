// A small restaurant as an MCP server: tools, a question, progress, a resource
// template with completion, and a prompt. Run it with `npm start`, behind a gateway.
import { pathToFileURL } from "node:url";
import { createServer, prompt, resource, tool, toolError } from "plugbay/server";
import { serveStdio } from "plugbay/stdio";

const dishes = new Map([
  ["ratatouille", { price: 14, minutes: 3, vegetarian: true }],
  ["bouillabaisse", { price: 24, minutes: 4, vegetarian: false }],
  ["quiche", { price: 11, minutes: 2, vegetarian: true }],
]);

const dishInput = {
  type: "object",
  properties: { dish: { type: "string", description: "Name of a dish on the menu" } },
  required: ["dish"],
};

function find(dish) {
  const found = dishes.get(dish);
  if (!found) throw toolError(`there is no ${dish}; the menu has ${[...dishes.keys()].join(", ")}`);
  return found;
}

export const bistro = createServer({
  name: "bistro",
  version: "1.0.0",
  title: "The Plugbay Bistro",
  instructions: "Show the menu before you order. Ordering asks the guest for confirmation.",
  tools: {
    menu: tool({
      description: "What can be ordered",
      input: { type: "object", properties: { vegetarian: { type: "boolean" } } },
      annotations: { readOnlyHint: true },
      run: ({ vegetarian }) =>
        [...dishes]
          .filter(([, dish]) => !vegetarian || dish.vegetarian)
          .map(([name, { price }]) => `${name}: ${price} €`)
          .join("\n"),
    }),
    order: tool({
      description: "Order a dish, after the guest has confirmed",
      input: {
        ...dishInput,
        properties: { ...dishInput.properties, quantity: { type: "integer", minimum: 1, maximum: 20 } },
      },
      output: {
        type: "object",
        properties: { dish: { type: "string" }, quantity: { type: "integer" }, total: { type: "number" } },
        required: ["dish", "quantity", "total"],
      },
      run: async ({ dish, quantity = 1 }, ctx) => {
        const total = find(dish).price * quantity;
        const { ok } = await ctx.ask(`${quantity} x ${dish} for ${total} €?`, {
          type: "object",
          properties: { ok: { type: "boolean", title: "Place the order" } },
          required: ["ok"],
        });
        if (!ok) throw toolError("the guest changed their mind");
        return { dish, quantity, total };
      },
    }),
    cook: tool({
      description: "Cook a dish and report how far it is",
      input: dishInput,
      run: async ({ dish }, ctx) => {
        const steps = Array.from({ length: find(dish).minutes }, (_, minute) => `minute ${minute + 1}`);
        for await (const _step of ctx.track(steps)) await minute(ctx.signal);
        return `${dish} is served`;
      },
    }),
  },
  resources: [
    resource("bistro://dishes/{dish}", {
      name: "Dish",
      description: "Everything about one dish",
      complete: { dish: (value) => [...dishes.keys()].filter((name) => name.startsWith(value)) },
      list: () => [...dishes.keys()].map((name) => ({ uri: `bistro://dishes/${name}`, name })),
      read: ({ dish }) => dishes.get(dish),
    }),
  ],
  prompts: {
    recommend: prompt({
      description: "Recommend a dish",
      arguments: { type: "object", properties: { mood: { type: "string" } }, required: ["mood"] },
      get: ({ mood }) => `A guest feels ${mood}. Look at the menu and recommend one dish, with a reason.`,
    }),
  },
});

/** A very short minute. */
function minute(signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, 300);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await serveStdio(bistro);
