// A server in a Cloudflare Worker: `fetch` passes everything it gets, so that work may go on after a response.
// With Wrangler: npx wrangler dev examples/worker.mjs --compatibility-date 2025-12-01 --compatibility-flag enable_request_signal
import { toFetchHandler } from "plugbay/http";
import { createServer, tool } from "plugbay/server";

const bakery = createServer({
  name: "bakery",
  version: "1.0.0",
  tools: {
    order: tool({
      description: "Orders a cake, after the user has agreed",
      input: { type: "object", properties: { cake: { type: "string" } }, required: ["cake"] },
      run: async ({ cake }, ctx) => {
        const order = await ctx.step("order", () => crypto.randomUUID()); // once, although the handler is run again
        await ctx.ask(`Bake a ${cake}?`);
        return `${cake}, order ${order}`;
      },
    }),
  },
});

const handler = toFetchHandler(bakery, { path: "/mcp", allowedHosts: ["localhost", "127.0.0.1"] });

export default { fetch: handler };
