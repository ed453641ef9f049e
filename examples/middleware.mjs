// Middleware maps a service to a service: here one that measures calls and one
// that limits how many a client may make in a minute.
import assert from "node:assert/strict";
import { connect } from "plugbay/client";
import { createServer, tool } from "plugbay/server";

/** Tells how long every call took and how it ended. */
const timing = (report) => (next) => async (call) => {
  const start = performance.now();
  const outcome = await next(call);
  report({ method: call.method, kind: outcome.kind, ms: performance.now() - start });
  return outcome;
};

/** Refuses calls of tools beyond a budget. A refusal is an outcome, not a throw. */
const rateLimit = (perMinute) => (next) => {
  let start = 0;
  let used = 0;
  return async (call) => {
    if (call.method !== "tools/call") return next(call);
    if (performance.now() - start > 60_000) [start, used] = [performance.now(), 0];
    if (++used <= perMinute) return next(call);
    const message = `more than ${perMinute} calls a minute`;
    return { kind: "failed", failure: { code: "application", number: 429, message } };
  };
};

const lines = [];

const server = createServer({
  name: "limited",
  version: "1.0.0",
  middleware: [timing((line) => lines.push(line)), rateLimit(2)], // the first is the outermost
  tools: { echo: tool({ run: ({ text }) => String(text) }) },
});

const client = await connect(server);
try {
  assert.equal(await client.tools.echo({ text: "one" }), "one");
  assert.equal(await client.tools.echo({ text: "two" }), "two");
  await assert.rejects(client.tools.echo({ text: "three" }), { code: "application", number: 429 });
} finally {
  await client.close();
}

const kinds = lines.filter(({ method }) => method === "tools/call").map(({ kind }) => kind);
assert.deepEqual(kinds, ["complete", "complete", "failed"]);
