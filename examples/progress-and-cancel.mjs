// A server behind a command: progress while a call runs, and a call that is
// given up halfway.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { connect } from "plugbay/client";

const bistro = fileURLToPath(new URL("./bistro-server.mjs", import.meta.url));
const client = await connect({ command: process.execPath, args: [bistro] });
try {
  const { serverInfo } = client.server;
  console.log(`connected to ${serverInfo.title}, which speaks ${client.revision}`);

  const seen = [];
  const served = await client.tools.cook(
    { dish: "quiche" },
    { onProgress: ({ progress, total }) => seen.push(`${progress} of ${total}`) },
  );
  assert.equal(served, "quiche is served");
  assert.deepEqual(seen, ["1 of 2", "2 of 2"]);

  // Any AbortSignal will do. The server hears of it, and the handler's own signal aborts.
  const patience = new AbortController();
  const call = client.tools.cook(
    { dish: "bouillabaisse" },
    { signal: patience.signal, onProgress: () => patience.abort("too slow") },
  );
  await assert.rejects(call, (error) => error.code === "cancelled" && error.cause === "too slow");
  console.log(seen.join(", "), "- and the bouillabaisse was cancelled");
} finally {
  await client.close();
}
