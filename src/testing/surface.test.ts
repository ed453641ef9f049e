import { describe, expect, it } from "vitest";
import { connect } from "../connect/connect.ts";
import { prompt } from "../server/prompt.ts";
import { resource } from "../server/resource.ts";
import { createServer } from "../server/server.ts";
import { type ToolDefinitions, tool } from "../server/tool.ts";
import { formatSurface, readSurface } from "./surface.ts";

const address = { type: "object", properties: { street: { type: "string" } } } as const;
const buy = (description: string) =>
  tool({
    description,
    input: { type: "object", properties: { to: address, from: address }, required: ["to"] } as const,
    annotations: { destructiveHint: true },
    run: () => "bought",
  });

async function surfaceOf(tools: ToolDefinitions) {
  await using client = await connect(
    createServer({
      name: "shop",
      version: "1",
      instructions: "Buy first.\nThen pay.",
      tools,
      prompts: { hello: prompt({ get: () => "Hello" }) },
      resources: [resource("doc://a", { read: () => "a" }), resource("doc://{id}", { read: ({ id }) => id })],
    }),
  );
  return formatSurface(await readSurface(client));
}

describe("the surface of a server", () => {
  it("has everything that clients see, but for the version", async () => {
    expect(await surfaceOf({ buy: buy("Buys an article") })).toBe(`capabilities:
  prompts: {}
  resources: {}
  tools: {}
instructions: |-
  Buy first.
  Then pay.
name: shop
prompts:
  hello: {}
resourceTemplates:
  doc://{id}:
    name: doc://{id}
resources:
  doc://a:
    name: doc://a
tools:
  buy:
    annotations:
      destructiveHint: true
    description: Buys an article
    inputSchema:
      properties:
        from:
          properties:
            street:
              type: string
          type: object
        to:
          properties:
            street:
              type: string
          type: object
      required:
        - to
      type: object
`);
  });

  it("differs in the lines that have changed, whatever the order of definitions", async () => {
    const [sell, pay] = [tool({ run: () => "" }), tool({ run: () => "" })];
    const before = (await surfaceOf({ buy: buy("Buys an article"), sell, pay })).split("\n");
    const after = (await surfaceOf({ pay, sell, buy: buy("Buys it") })).split("\n");
    expect(after.filter((line, index) => line !== before[index])).toEqual(["    description: Buys it"]);
  });

  it("is the same in every revision but for what a revision does not have", async () => {
    const server = createServer({ name: "shop", version: "1", tools: { buy: buy("Buys an article") } });
    const read = async (revision: "2026-07-28" | "2025-11-25") => {
      await using client = await connect(server, { revision });
      return await readSurface(client);
    };
    expect(await read("2025-11-25")).toEqual(await read("2026-07-28"));
  });

  it("of a server without anything is empty", async () => {
    await using client = await connect(createServer({ name: "empty", version: "1" }));
    expect(await readSurface(client)).toMatchObject({ name: "empty", tools: {}, prompts: {}, resources: {} });
  });
});
