// A server over HTTP, and two clients of different ages that use it at the same
// time. Run it with `node examples/http-server.mjs`.
import { connect } from "plugbay/client";
import { serveHttp } from "plugbay/http";
import { createServer, tool } from "plugbay/server";

const post = createServer({
  name: "post",
  version: "1.0.0",
  tools: {
    send: tool({
      description: "Sends a letter, stop by stop, when the sender agrees to the price",
      input: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
      run: async ({ to }, ctx) => {
        const form = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] };
        const { ok } = await ctx.ask(`A letter to ${to} is 2 €. Send it?`, form);
        if (!ok) return "The letter stays here.";
        for await (const _stop of ctx.track(["box", "office", "train", "door"]));
        return `Delivered to ${to}, for ${ctx.client.info?.name} who speaks ${ctx.client.revision}.`;
      },
    }),
  },
});

const serving = await serveHttp(post, { port: 0 }); // a free port; without it, 3000
console.log(`listening on ${serving.url}`);

await Promise.all(
  ["2025-06-18", "2026-07-28"].map(async (revision) => {
    const client = await connect(serving.url, {
      revision,
      info: { name: `client ${revision}`, version: "1.0.0" },
      onElicit: ({ message }) => {
        console.log(`${revision} is asked: ${message}`);
        return { ok: true };
      },
    });
    const onProgress = ({ progress, total }) => console.log(`${revision}: ${progress} of ${total}`);
    console.log(await client.tools.send({ to: "Paris" }, { onProgress }));
    await client.close();
  }),
);
await serving.close();
