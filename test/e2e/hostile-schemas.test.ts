import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/json/json.ts";
import type { Call, Service } from "../../src/protocol/service.ts";
import { leastHeldUp } from "../support/cpu-time.ts";
import { hostile } from "../support/hostile-schemas.ts";
import { connect, createServer, tool } from "./support/built.ts";

// Both sides of a call check what the other one sent, without being held up by it.

const maxMs = 100;

const objectOf = ({ $defs = {}, ...schema }: JsonObject): JsonObject => ({
  type: "object",
  properties: { it: schema },
  required: ["it"],
  $defs,
});

describe("a hostile schema", () => {
  it.each(hostile)("of results does not hold up a client: $name (S4)", async ({ schema, value }) => {
    const server = async ({ method }: Call) => {
      if (method === "server/discover") {
        const serverInfo = { name: "hostile", version: "1" };
        const result = { supportedVersions: ["2026-07-28"], capabilities: { tools: {} }, serverInfo };
        return { kind: "complete", result };
      }
      const listed = { name: "evil", inputSchema: { type: "object" }, outputSchema: objectOf(schema) };
      const result = method === "tools/list" ? { tools: [listed] } : { content: [], structuredContent: { it: value } };
      return { kind: "complete", result };
    };
    const warnings: unknown[] = [];
    await using client = await connect(server as unknown as Service, {
      onWarning: (warning) => warnings.push(warning),
    });
    await client.listTools();
    expect(await leastHeldUp(() => client.callTool("evil").catch(() => {}), maxMs)).toBeLessThan(maxMs);
    expect(warnings).toEqual([]); // none is left unchecked
  });

  it.each(hostile)("of input does not hold up a server: $name (S4)", async ({ schema, value }) => {
    const server = createServer({
      name: "s",
      version: "1",
      tools: { take: tool({ input: objectOf(schema), run: () => "taken" }) },
    });
    await using client = await connect(server);
    expect(await leastHeldUp(() => client.callTool("take", { it: value }).catch(() => {}), maxMs)).toBeLessThan(maxMs);
  });
});
