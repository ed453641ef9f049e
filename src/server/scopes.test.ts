import { describe, expect, it, vi } from "vitest";
import { peer, send } from "../../test/support/direct.ts";
import { McpError } from "../protocol/errors.ts";
import type { Auth } from "../protocol/peer.ts";
import { createServer } from "./server.ts";
import { tool } from "./tool.ts";

const info = { name: "scopes", version: "1" };

function serve() {
  const run = vi.fn((_: unknown, { auth }: { auth: Auth | undefined }) => `run by ${auth?.principal}`);
  const input = { type: "object", required: ["n"] } as const;
  const later = tool({
    run: () => {
      throw new McpError("forbidden", "not yours", { data: { scopes: ["own"] } });
    },
  });
  const server = createServer({
    ...info,
    tools: {
      open: tool({ run }),
      closed: tool({ scopes: ["read", "write"], input, run }),
      long: tool({ scopes: ["read"], task: "auto", run }),
      empty: tool({ scopes: [], run }),
      later,
    },
  });
  const call = (name: string, auth?: Auth, args = {}) =>
    send(server, "tools/call", { name, arguments: args }, { peer: { ...peer(), ...(auth !== undefined && { auth }) } });
  return { server, run, call };
}

const forbidden = (name: string, scopes: readonly string[]) => ({
  kind: "failed",
  failure: {
    code: "forbidden",
    message: `tool ${name} needs scopes that the caller was not granted; sign in again with: ${scopes.join(" ")}`,
    data: { reason: "forbidden", scopes },
  },
});

describe("a tool that takes scopes", () => {
  it("runs for who has all of them", async () => {
    const { call } = serve();
    const auth = { principal: "ann", scopes: ["write", "other", "read"] };
    expect(await call("closed", auth, { n: 1 })).toMatchObject({ result: { content: [{ text: "run by ann" }] } });
    expect(await call("empty")).toMatchObject({ result: { content: [{ text: "run by undefined" }] } });
  });

  it("is refused to others, before its arguments are looked at and before it becomes a task", async () => {
    const { call, run } = serve();
    for (const auth of [undefined, { principal: "ann" }, { principal: "ann", scopes: ["read", "writer"] }]) {
      expect(await call("closed", auth)).toEqual(forbidden("closed", ["read", "write"]));
    }
    expect(await call("long", { principal: "ann", scopes: [] })).toEqual(forbidden("long", ["read"]));
    expect(run).not.toHaveBeenCalled();
  });

  it("is in lists all the same, which say nothing of scopes", async () => {
    const listed = await send(serve().server, "tools/list", {});
    expect(JSON.stringify(listed)).toContain('"closed"');
    expect(JSON.stringify(listed)).not.toContain("scopes");
  });

  it("may refuse by itself", async () => {
    expect(await serve().call("later")).toMatchObject({
      failure: { code: "forbidden", message: "not yours", data: { scopes: ["own"] } },
    });
  });

  it.each([["a b"], [""], ['"'], ["ä"], [7 as never]])("must not take %j", (scope) => {
    const create = () => createServer({ ...info, tools: { bad: tool({ scopes: [scope], run: () => "" }) } });
    expect(create).toThrow(/tool bad: scopes must be/);
  });
});
