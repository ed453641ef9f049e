// A limit that two processes share through one store: whichever a user calls,
// all calls count. Calls that cost more count for more.
import assert from "node:assert/strict";
import { connect } from "plugbay/client";
import { serveHttp } from "plugbay/http";
import { rateLimit } from "plugbay/middleware";
import { createServer, tool } from "plugbay/server";
import { openStore } from "plugbay/store";

const store = await openStore("memory:"); // in production: openStore("redis://…"), in each process

const limit = rateLimit({
  limit: 10,
  windowMs: 60_000,
  store,
  cost: ({ params }) => (params.name === "report" ? 5 : 1),
});

const kiosk = () =>
  createServer({
    name: "kiosk",
    version: "1.0.0",
    middleware: [limit],
    tools: {
      price: tool({ run: () => "1.20" }),
      report: tool({ run: () => "a long report" }),
    },
  });

// A user for each token. In production: jwt({ issuer, audience }) of plugbay/auth/server.
const auth = (http) => {
  const [, user] = /^Bearer (ann|bob)$/.exec(http.header("authorization") ?? "") ?? [];
  return user === undefined ? { ok: false, status: 401 } : { ok: true, auth: { principal: user } };
};

const servings = [await serveHttp(kiosk(), { port: 0, auth }), await serveHttp(kiosk(), { port: 0, auth })];
const clientOf = (user, { url }) => connect(url, { headers: { authorization: `Bearer ${user}` } });
const [one, two] = await Promise.all(servings.map((serving) => clientOf("ann", serving)));
const bob = await clientOf("bob", servings[0]);

try {
  await one.callTool("report"); // 5
  await two.callTool("price"); // 6
  await assert.rejects(one.callTool("report"), ({ data }) => {
    assert.equal(data.reason, "limit-reached");
    assert.ok(data.retryAfterMs > 0);
    return true;
  });
  await two.callTool("price"); // 7: what was refused does not count
  await bob.callTool("report"); // bob has a limit of his own
} finally {
  await Promise.all([one, two, bob].map((client) => client.close()));
  await Promise.all(servings.map((serving) => serving.close()));
  await store.close();
}
