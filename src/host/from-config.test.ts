import { describe, expect, it } from "vitest";
import { configFromObject } from "../config/resolve-config.ts";
import type { Authorizer } from "../protocol/authorizer.ts";
import { isSameSpec } from "./server-registry.ts";
import { createSpecs } from "./spec.ts";

const authorizer = {} as Authorizer;

describe("servers of a configuration", () => {
  const plain = createSpecs({ trustFileApprovals: false });

  it("become servers of a host, with their limits and filters", async () => {
    const config = await configFromObject({
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
    const config = await configFromObject({
      mcpServers: {
        off: { command: "node", disabled: true },
        bad: { command: "node", env: { KEY: ["$", "{NOBODY}"].join("") } },
        fine: { command: "node" },
      },
    });
    const specs = plain(config);
    expect(specs.off?.disabled).toMatchObject({
      code: "unsupported",
      message: expect.stringContaining("switched off"),
    });
    expect(specs.bad?.disabled).toMatchObject({
      code: "invalid-config",
      message: expect.stringMatching(/bad.*env\.KEY.*NOBODY/),
    });
    expect(specs.fine?.disabled).toBeUndefined();
  });

  it("are the same when nothing changed, so that nothing is restarted", async () => {
    let made = 0;
    const toSpecs = createSpecs({
      trustFileApprovals: false,
      auth: () => {
        made++;
        return { ...authorizer };
      },
    });
    const read = async (url: string) => toSpecs(await configFromObject({ mcpServers: { a: { url } } })).a;
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
    const config = await configFromObject({
      mcpServers: { a: { command: "node", autoApprove: ["write"], trust: true } },
    });
    expect(plain(config).a?.approved).toBeUndefined();
    expect(createSpecs({ trustFileApprovals: true })(config).a?.approved).toBeDefined();
  });
});
