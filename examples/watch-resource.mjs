// A client that reads a resource again whenever the server says it changed, and
// hears when the list of tools does.
import assert from "node:assert/strict";
import { connect } from "plugbay/client";
import { createServer, resource, tool } from "plugbay/server";

let degrees = 18;

const weather = createServer({
  name: "weather",
  version: "1.0.0",
  subscribe: true,
  listChanged: true,
  cache: { ttlMs: 60_000 },
  tools: {},
  resources: [resource("weather://now", { read: () => `${degrees} degrees` })],
});

const client = await connect(weather);
const read = async () => (await client.readResource("weather://now")).contents[0].text;

const watch = client.watch("weather://now");
const changes = client.changes({ tools: true });
await Promise.all([watch.ready, changes.ready]); // from here on no change is missed

assert.equal(await read(), "18 degrees");
degrees = 21;
assert.equal(await read(), "18 degrees"); // still fresh: the server allows a minute
weather.resourceUpdated("weather://now");
weather.tools.add("forecast", tool({ run: () => "Sunny" }));

for await (const { uri } of watch) {
  assert.equal(uri, "weather://now");
  assert.equal(await read(), "21 degrees"); // the change dropped what was kept
  break; // leaving the loop unsubscribes
}
for await (const { kind } of changes) {
  assert.equal(kind, "tools");
  assert.deepEqual(
    (await client.listTools()).map(({ name }) => name),
    ["forecast"],
  );
  break;
}
await client.close();
