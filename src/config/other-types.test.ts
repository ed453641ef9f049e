import { describe, expect, it } from "vitest";
import { parseConfig } from "./parse-config.ts";
import { resolveConfig } from "./resolve-config.ts";

async function resolved(entry: object, env: Readonly<Record<string, string>> = {}) {
  const text = JSON.stringify({ mcpServers: { it: entry } });
  const { servers, problems, origins } = await resolveConfig([await parseConfig(text, { path: "/work/mcp.json" })], {
    env,
  });
  return { target: servers[0]?.target, problems: problems.map(({ message }) => message), origin: origins[0] };
}

describe("an entry", () => {
  it("of the type openapi names a document, and how its API is called", async () => {
    const entry = {
      ...{ type: "openapi", document: "./petstore.yaml", baseUrl: `https://\${HOST}/v1`, command: "x" },
      ...{ include: ["list*"], exclude: ["tag:admin"], headers: { "X-Key": `\${KEY}` } },
    };
    const { target, problems, origin } = await resolved(entry, { HOST: "api.example.com", KEY: "very-secret" });
    expect(problems).toEqual([]);
    expect(target).toEqual({
      type: "openapi",
      document: "/work/petstore.yaml",
      baseUrl: "https://api.example.com/v1",
      include: ["list*"],
      exclude: ["tag:admin"],
      headers: { "X-Key": "very-secret" },
    });
    expect(JSON.stringify(origin)).not.toContain("very-secret");
    expect(origin?.ignored.map(({ field }) => field)).toEqual(["command"]);
  });

  it("of the type openapi may name a URL", async () => {
    const { target } = await resolved({ type: "openapi", document: "https://example.com/api.json?key=abc" });
    expect(target).toEqual({ type: "openapi", document: "https://example.com/api.json?key=abc" });
  });

  it("of the type module names a file", async () => {
    const { target } = await resolved({ type: "module", module: "./tools.ts" });
    expect(target).toEqual({ type: "module", module: "/work/tools.ts" });
  });

  it.each<[object, RegExp]>([
    [{ type: "openapi" }, /the type wants a document, and there is none/],
    [{ type: "module", document: "a" }, /the type wants a module, and there is none/],
    [{ type: "openapi", document: "a", baseUrl: "ftp://x" }, /is a "ftp:" URL/],
    [{ type: "openapi", document: "a", include: "list*" }, /include must be a list of names/],
  ])("is refused when it is %j", async (entry, message) => {
    expect((await resolved(entry)).problems.join()).toMatch(message);
  });

  it("of another type has no use for a document", async () => {
    const { target, origin } = await resolved({ command: "x", document: "a", include: "b" });
    expect(target).toEqual({ command: "x", args: [] });
    expect(origin?.ignored.map(({ field }) => field)).toEqual(["document", "include"]);
  });
});
