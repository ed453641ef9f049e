// What the shop offers, and to whom.
import { setTimeout as wait } from "node:timers/promises";
import { trace } from "@opentelemetry/api";
import { createServer, requireAuth, resource, tool } from "plugbay/server";

const article = { type: "object", properties: { sku: { type: "string" } }, required: ["sku"] };
const tracer = trace.getTracer("shop");

/** Staff by the groups that the provider of the users knows them in. */
const isStaff = ({ auth }) => auth?.claims?.groups?.includes("staff") === true;
/** Machines by the scope that their issuer gave them. */
const mayRestock = ({ auth }) => auth?.scopes?.includes("stock:write") === true;

export function createShop({ name, ...options }) {
  const shop = createServer({
    name: "shop",
    version: "1.0.0",
    ...options,
    tools: {
      whoami: tool({
        description: "Says who has signed in, and which process answers",
        run: (_, ctx) => `${requireAuth(ctx).claims?.name ?? ctx.auth.principal} at ${name}`,
      }),
      price: tool({
        description: "Asks the supplier for the price of an article",
        input: article,
        annotations: { readOnlyHint: true },
        run: ({ sku }) => askSupplier(sku),
      }),
      addToCart: tool({
        description: "Puts an article into your cart",
        input: article,
        scopes: ["cart:write"],
        run: async ({ sku }, ctx) => {
          const { cart } = await ctx.auth.state.update((before) => ({ cart: [...(before?.cart ?? []), sku] }));
          return `${cart.length} in the cart: ${cart.join(", ")}`;
        },
      }),
      order: tool({
        description: "Orders what is in your cart. It may take a while: as a task, it outlives the process",
        scopes: ["cart:write"],
        task: "auto",
        run: async (_, ctx) => {
          const { cart = [] } = (await ctx.auth.state.get()) ?? {};
          for await (const sku of ctx.track(cart))
            await ctx.step(`pack ${sku}`, () => wait(100, undefined, { ref: false }));
          await ctx.auth.state.delete();
          return `${cart.length} sent`;
        },
      }),
      takings: tool({
        description: "Says what was taken today. For staff",
        visible: isStaff,
        run: () => "1,234.00",
      }),
      restock: tool({
        description: "Says that articles have arrived. For machines",
        input: article,
        visible: mayRestock,
        scopes: ["stock:write"],
        run: ({ sku }) => {
          shop.resourceUpdated(`stock://${sku}`);
          return `${sku} is in stock`;
        },
      }),
    },
    resources: [resource("stock://{sku}", { read: ({ sku }) => `some ${sku}` })],
    subscribe: true,
  });
  return shop;
}

/** The work of a tool, as a span below that of the call. */
function askSupplier(sku) {
  return tracer.startActiveSpan("ask supplier", async (span) => {
    await wait(50);
    span.end();
    return `${sku} is ${sku.length}.00`;
  });
}
