// A server asks its client: for a form, for a page to be opened, for a
// completion of the model, for roots. Giving a handler is what declares the
// capability; without one the question is refused.
import assert from "node:assert/strict";
import { connect } from "plugbay/client";
import { createServer, tool } from "plugbay/server";

const form = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };

const travel = createServer({
  name: "travel",
  version: "1.0.0",
  tools: {
    plan: tool({
      run: async (_input, ctx) => {
        const { name } = await ctx.ask("Who travels?", form);
        await ctx.askUrl("Sign in to the railway", "https://railway.example/login");
        const [places, idea] = await Promise.all([
          ctx.roots(),
          ctx.sample({
            messages: [{ role: "user", content: { type: "text", text: `Where should ${name} go?` } }],
            maxTokens: 20,
          }),
        ]);
        return `${name} goes to ${idea.content.text}, notes in ${places[0].uri}`;
      },
    }),
  },
});

const client = await connect(travel, {
  onElicit: ({ message }) => (message === "Who travels?" ? { name: "Ada" } : { action: "decline" }),
  onElicitUrl: ({ host }) => ({ action: host === "railway.example" ? "accept" : "decline" }),
  onSample: () => ({ role: "assistant", model: "demo", content: { type: "text", text: "Lyon" } }),
  roots: [{ uri: "file:///home/ada/notes" }],
});
// This one can only fill forms, and its user says no.
const shy = await connect(travel, { onElicit: () => ({ action: "decline" }) });
try {
  assert.equal(await client.tools.plan(), "Ada goes to Lyon, notes in file:///home/ada/notes");
  await assert.rejects(shy.tools.plan(), { code: "tool-error", message: "the user declined: Who travels?" });
} finally {
  await Promise.all([client.close(), shy.close()]);
}
