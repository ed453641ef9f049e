// A server whose schemas are zod's. Run it to see it call itself; run it with
// --stdio to serve it to a host. arktype works the same way; a valibot schema is
// wrapped with toStandardJsonSchema from @valibot/to-json-schema.
import assert from "node:assert/strict";
import { connect } from "plugbay/client";
import { createServer, prompt, tool } from "plugbay/server";
import { serveStdio } from "plugbay/stdio";
import { z } from "zod";

const Booking = z.object({
  guests: z.number().int().min(1).max(12),
  date: z.iso.date(),
  window: z.boolean().default(false).describe("A table at the window"),
});

const tables = createServer({
  name: "tables",
  version: "1.0.0",
  tools: {
    book: tool({
      description: "Books a table",
      input: Booking,
      output: z.object({ table: z.number(), date: z.string() }),
      // `window` is there: the handler sees what the schema made of the arguments.
      run: ({ date, window }) => ({ table: window ? 1 : 7, date }),
    }),
  },
  prompts: {
    invite: prompt({
      arguments: z.object({ name: z.string() }),
      get: ({ name }) => `Write an invitation to dinner for ${name}.`,
    }),
  },
});

if (process.argv.includes("--stdio")) {
  await serveStdio(tables);
} else {
  const client = await connect(tables);
  assert.deepEqual(await client.tools.book({ guests: 2, date: "2026-07-28" }), { table: 7, date: "2026-07-28" });
  const refused = await client.callTool("book", { guests: 40, date: "soon" });
  assert.equal(refused.isError, true);
  console.log(refused.content[0].text);
  await client.close();
}
