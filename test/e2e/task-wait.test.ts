import { expect, it } from "vitest";
import { run } from "./support/run.ts";

// Between two looks at a task nothing happens: no socket is in use, and timers keep no process alive.

const program = `
  import { connect } from "plugbay/client";
  import { createServer, tool } from "plugbay/server";

  const bake = tool({ task: "required", run: () => new Promise((resolve) => setTimeout(resolve, 500, "done").unref()) });
  const client = await connect(createServer({ name: "bakery", version: "1", tools: { bake } }));
  console.log(await client.tools.bake({}));
  await client.tasks.start("bake");
`;

it("a program that waits for a task does not end before it, and one that does not wait ends at once", async () => {
  const args = ["--input-type=module", "--eval", program];
  expect(await run({ command: process.execPath, args })).toEqual({
    code: 0,
    signal: null,
    stdout: "done\n",
    stderr: "",
  });
});
