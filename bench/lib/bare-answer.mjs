import { z } from "zod";
import { LEGACY, MODERN } from "./messages.mjs";
import { manyTools, schemaOf, textResult } from "./tools.mjs";

const serverInfo = { name: "bench", version: "1.0.0" };
const meta = { "io.modelcontextprotocol/serverInfo": serverInfo };

/** The least that checks an input: one comparison for each member. */
const checks = {
  add: ({ a, b }) => typeof a === "number" && typeof b === "number",
  blob: ({ size }) => typeof size === "number",
  measure: ({ text }) => typeof text === "string",
};

/**
 * Answers messages with nothing between the JSON and the tool: what no server can
 * be faster than. Gives the response as a value, and nothing for a notification.
 */
export function createBareAnswer(count = 3) {
  const offered = manyTools(count);
  const runs = new Map(offered.map(({ name, run }) => [name, run]));
  const listed = offered.map(({ name, description, ...rest }) => {
    return { name, description, inputSchema: z.toJSONSchema(schemaOf(rest)) };
  });
  const capabilities = { tools: { listChanged: true } };
  const methods = {
    initialize: () => ({ protocolVersion: LEGACY, capabilities, serverInfo }),
    "server/discover": () => ({ supportedVersions: [MODERN], capabilities, ttlMs: 0, cacheScope: "private" }),
    "tools/list": () => ({ tools: listed }),
    "tools/call": call,
    ping: () => ({}),
  };

  function call({ name, arguments: input }) {
    if (!checks[name](input)) throw new Error(`bad input of ${name}`);
    return textResult(runs.get(name)(input));
  }

  return ({ id, method, params }) => {
    if (id === undefined) return undefined;
    const result = methods[method](params);
    if (params?._meta === undefined) return { jsonrpc: "2.0", id, result };
    return { jsonrpc: "2.0", id, result: { resultType: "complete", ...result, _meta: meta } };
  };
}
