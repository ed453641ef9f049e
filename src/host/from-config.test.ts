import { describe, expect, it } from "vitest";
import { configOf } from "../config/resolve-config.ts";
import type { Authorizer } from "../model/authorizer.ts";
import { isSameSpec } from "./server-registry.ts";
import { createSpecs } from "./spec.ts";

const authorizer = {} as Authorizer;

describe("servers of a configuration", () => {
  const plain = createSpecs({ believesApprovals: false });

  it("become servers of a host, with their limits and filters", async () => {
    const config = await configOf({
      mcpServers: {
        local: { command: "node", args: ["server.js"], timeout: 5_000, includeTools: ["a"], excludeTools: ["b"] },
        remote: { url: "https://example.com/mcp", headers: { "x-key": "k" } },
      },
    });
    expect(plain(config)).toMatchObject({
      local: { target: { command: "node", args: ["server.js"] } },
      remote: { target: { url: "https://example.com/mcp", headers: { "x-key": "k" } } },
    });
  });

  it("are off when they are switched off, and when something is wrong with them, with the place", async () => {
    const config = await configOf({
      mcpServers: {
        off: { command: "node", disabled: true },
        bad: { command: "node", env: { KEY: ["$", "{NOBODY}"].join("") } },
        fine: { command: "node" },
      },
    });
    const specs = plain(config);
    expect(specs.off?.off).toMatchObject({ code: "unsupported", message: expect.stringContaining("switched off") });
    expect(specs.bad?.off).toMatchObject({
      code: "invalid-config",
      message: expect.stringMatching(/bad.*env\.KEY.*NOBODY/),
    });
    expect(specs.fine?.off).toBeUndefined();
  });

  it("are the same when nothing changed, so that nothing is restarted", async () => {
    let made = 0;
    const toSpecs = createSpecs({
      believesApprovals: false,
      auth: () => {
        made++;
        return { ...authorizer };
      },
    });
    const read = async (url: string) => toSpecs(await configOf({ mcpServers: { a: { url } } })).a;
    const [one, two, other] = [
      await read("https://a.example"),
      await read("https://a.example"),
      await read("https://b.example"),
    ];
    if (one === undefined || two === undefined || other === undefined) throw new Error("no specs");
    expect(isSameSpec(one, two)).toBe(true);
    expect(isSameSpec(one, other)).toBe(false);
    expect(made).toBe(2);
  });

  it("do not approve themselves, unless files are believed", async () => {
    const config = await configOf({ mcpServers: { a: { command: "node", autoApprove: ["write"], trust: true } } });
    expect(plain(config).a?.approved).toBeUndefined();
    expect(createSpecs({ believesApprovals: true })(config).a?.approved).toBeDefined();
  });
});
