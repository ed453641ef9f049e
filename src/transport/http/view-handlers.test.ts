import { describe, expect, it } from "vitest";
import { newest } from "../../protocol/revision.ts";
import type { Service, ServiceViews } from "../../protocol/service.ts";
import { createServer, tool } from "../../server/index.ts";
import { toFetchHandler } from "./fetch-handler.ts";
import type { HttpOptions } from "./options.ts";

// A service with views, whoever made them.

const serving = (name: string) => createServer({ name, version: "1", tools: { who: tool({ run: () => name }) } });

function withViews(views: Map<string, Service>): Service {
  const found: ServiceViews = {
    has: (name) => views.has(name),
    get: (name) => views.get(name) ?? expect.fail(`there is no ${name}`),
    names: () => [...views.keys()],
    around: () => found,
  };
  return Object.assign(serving("whole"), { views: found });
}

function open(views: Map<string, Service>, options: HttpOptions = {}) {
  const handler = toFetchHandler(withViews(views), options);
  const send = async (path: string) => {
    const meta = {
      "io.modelcontextprotocol/protocolVersion": newest,
      "io.modelcontextprotocol/clientCapabilities": {},
      "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
    };
    const params = { name: "who", arguments: {}, _meta: meta };
    const response = await handler(
      new Request(`http://127.0.0.1${path}`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": newest,
          "mcp-method": "tools/call",
          "mcp-name": "who",
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
      }),
    );
    const { result, error } = (await response.json()) as {
      result?: { content: readonly { text: string }[] };
      error?: { message: string };
    };
    return { status: response.status, said: result?.content[0]?.text ?? error?.message };
  };
  return { send, close: handler.close };
}

describe("a service with views", () => {
  it("serves each below the path of the whole, whatever characters its name has", async () => {
    const { send, close } = open(
      new Map([
        ["docs", serving("docs")],
        ["ä/b c", serving("odd")],
      ]),
    );
    expect(await send("/mcp")).toEqual({ status: 200, said: "whole" });
    expect(await send("/mcp/")).toEqual({ status: 200, said: "whole" });
    expect(await send("/mcp/docs")).toEqual({ status: 200, said: "docs" });
    expect(await send("/mcp/docs/?a=b")).toEqual({ status: 200, said: "docs" });
    expect(await send(`/mcp/${encodeURIComponent("ä/b c")}`)).toEqual({ status: 200, said: "odd" });
    await close();
  });

  it("is at the path that it was given", async () => {
    const { send, close } = open(new Map([["docs", serving("docs")]]), { path: "/" });
    expect(await send("/")).toEqual({ status: 200, said: "whole" });
    expect(await send("/docs")).toEqual({ status: 200, said: "docs" });
    expect(await send("/nothing")).toMatchObject({
      status: 404,
      said: /^there is no view "nothing"; the whole is served at \/, views at: \/docs$/,
    });
    await close();
  });

  it("serves views that come, go and change while it is served", async () => {
    const views = new Map<string, Service>();
    const { send, close } = open(views);
    expect(await send("/mcp/docs")).toMatchObject({ status: 404, said: /views at: none$/ });
    views.set("docs", serving("docs"));
    expect(await send("/mcp/docs")).toEqual({ status: 200, said: "docs" });
    views.set("docs", serving("other docs"));
    expect(await send("/mcp/docs")).toEqual({ status: 200, said: "other docs" });
    views.delete("docs");
    expect(await send("/mcp/docs")).toMatchObject({ status: 404 });
    await close();
  });

  it("leaves deeper paths, and names that cannot be read, to nobody", async () => {
    const { send, close } = open(new Map([["docs", serving("docs")]]));
    expect(await send("/mcp/docs/more")).toMatchObject({ status: 404, said: /nothing is served/ });
    expect(await send("/mcp//docs")).toMatchObject({ status: 404, said: /nothing is served/ });
    expect(await send("/mcpdocs")).toMatchObject({ status: 404, said: /nothing is served/ });
    expect(await send("/mcp/%E0%A4%A")).toMatchObject({ status: 404, said: /there is no view/ });
    await close();
  });
});
