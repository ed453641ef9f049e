// A server as a fetch handler, as Workers, Deno, Bun, Hono and Next want it.
// Here the requests come from a client in the same process, without a socket.
import { connect } from "plugbay/client";
import { toFetchHandler } from "plugbay/http";
import { createServer, tool } from "plugbay/server";

const dice = createServer({
  name: "dice",
  version: "1.0.0",
  tools: { roll: tool({ description: "Rolls a die", run: () => 1 + Math.floor(Math.random() * 6) }) },
});

// On a platform: export default { fetch: handle }
const handle = toFetchHandler(dice, { allowedHosts: ["dice.example"] });

const client = await connect("https://dice.example/mcp", {
  fetch: (...request) => handle(new Request(...request)),
});
console.log(`rolled ${await client.tools.roll({})}`);
await client.close();
await handle.close();
