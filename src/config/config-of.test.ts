import { describe, expect, it } from "vitest";
import { configFromObject, parseConfigObject } from "./resolve-config.ts";

describe("configOf", () => {
  const entry = { command: "x", args: ["y"] };

  it.each([[{ mcpServers: { a: entry } }], [{ servers: { a: entry } }], [{ a: entry }]])(
    "finds the server in %j",
    async (object) => {
      const { servers, files } = await configFromObject(object);
      expect(servers).toMatchObject([
        { name: "a", target: entry, enabled: true, origin: { place: { path: "config" } } },
      ]);
      expect(files).toMatchObject([{ path: "config", kind: "config" }]);
    },
  );

  it("takes a server for one that has a name which files use for something else", async () => {
    expect(
      (await configFromObject({ mcp: { command: "x" }, servers: { url: "http://x" } })).servers.map(({ name }) => name),
    ).toEqual(["mcp", "servers"]);
  });

  it("leaves out what is undefined, and puts variables in", async () => {
    const { servers } = await configFromObject(
      { a: { command: "x", cwd: undefined, env: { A: `${"$"}{B}` } } },
      { env: { B: "1" } },
    );
    expect(servers.map(({ target }) => target)).toEqual([{ command: "x", args: [], env: { A: "1" } }]);
  });

  it("takes no names from prototypes, and gives none to them", async () => {
    const { servers } = await configFromObject(
      JSON.parse('{ "mcpServers": { "__proto__": { "command": "x", "env": { "__proto__": "1" } } } }'),
    );
    const [server] = servers;
    expect(server?.name).toBe("__proto__");
    expect(server?.target).toEqual({ command: "x", args: [], env: JSON.parse('{ "__proto__": "1" }') });
    expect(Object.getPrototypeOf(server?.target)).toBe(Object.prototype);
  });

  it.each([
    [[], "config: an object is expected, not a list"],
    [{ a: { command: () => 1 } }, "config: a function cannot be part of a configuration"],
    [{ a: { command: 1n } }, "config: a bigint cannot be part of a configuration"],
    [{ a: 1 }, /there are no servers in it: it has a; understood/],
  ])("refuses %s", async (object, message) => {
    await expect(configFromObject(object)).rejects.toThrow(message);
  });

  it("refuses what goes round in circles", () => {
    const circle: { self?: object } = {};
    circle.self = circle;
    expect(() => parseConfigObject({ a: circle }, { path: "mine" })).toThrow(
      "mine: values are nested deeper than 32 levels",
    );
  });
});
