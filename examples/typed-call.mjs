// A server and a client in one process: a call is a function call, and nothing
// goes over a wire. In TypeScript the arguments and the result are typed.
import assert from "node:assert/strict";
import { connect } from "plugbay/client";
import { createServer, tool, toolError } from "plugbay/server";

const calc = createServer({
  name: "calc",
  version: "1.0.0",
  tools: {
    divide: tool({
      description: "Divides a by b",
      input: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
      output: { type: "object", properties: { quotient: { type: "number" } }, required: ["quotient"] },
      run: ({ a, b }) => {
        if (b === 0) throw toolError("cannot divide by zero", { b });
        return { quotient: a / b };
      },
    }),
  },
});

const client = await connect(calc);
try {
  const { quotient } = await client.tools.divide({ a: 6, b: 3 });
  assert.equal(quotient, 2);

  // What a tool says failed is thrown by `tools`, with its message and data …
  await assert.rejects(client.tools.divide({ a: 1, b: 0 }), { code: "tool-error", data: { b: 0 } });

  // … and returned by `callTool`, which gives the whole result.
  const result = await client.callTool("divide", { a: "one", b: 2 });
  assert.equal(result.isError, true);
  console.log(result.content[0].text);
} finally {
  await client.close();
}
