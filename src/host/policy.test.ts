import { describe, expect, it } from "vitest";
import type { ToolAnnotations } from "../protocol/tool.ts";
import { createPolicy, type PolicyRule } from "./access.ts";
import type { HostTool } from "./host-tool.ts";

const tool = (name: string, annotations?: ToolAnnotations): HostTool => ({
  name,
  server: name.split(":")[0] ?? "",
  localName: name.split(":")[1] ?? "",
  alias: name.replace(":", "__"),
  inputSchema: { type: "object" },
  ...(annotations && { annotations }),
});

describe("a policy", () => {
  it("allows everything when there is none", () => {
    expect(createPolicy(undefined)(tool("a:b")).action).toBe("allow");
  });

  it("is decided by the first rule that fits", () => {
    const rules: readonly PolicyRule[] = [
      { tools: "fs:read_*", action: "allow" },
      { tools: ["fs:*", "db:*"], action: "approve" },
      { action: "deny" },
    ];
    const decide = createPolicy(rules);
    expect(decide(tool("fs:read_file"))).toMatchObject({ action: "allow", by: "rule 1 of the policy" });
    expect(decide(tool("db:drop")).action).toBe("approve");
    expect(decide(tool("web:get")).action).toBe("deny");
  });

  it("denies what a rule denies, wherever that rule stands (S14, V16)", () => {
    const rules: readonly PolicyRule[] = [
      { when: { readOnly: true }, action: "allow" },
      { tools: ["shop:*", "*:delete_*"], action: "approve" },
      { tools: "untrusted:*", action: "deny" },
    ];
    for (const policy of [rules, rules.toReversed()]) {
      const decide = createPolicy(policy);
      expect(decide(tool("untrusted:read", { readOnlyHint: true })).action).toBe("deny");
      expect(decide(tool("untrusted:delete_all")).action).toBe("deny");
      expect(decide(tool("shop:buy")).action).toBe("approve");
      expect(decide(tool("other:write")).action).toBe("allow");
    }
    expect(createPolicy(rules)(tool("untrusted:read"))).toEqual({
      action: "deny",
      by: "rule 3 of the policy",
      source: "policy",
    });
  });

  it("denies the rest by a rule without conditions, wherever that stands (S14)", () => {
    const rules: readonly PolicyRule[] = [{ action: "deny" }, { tools: "shop:*", action: "allow" }];
    for (const policy of [rules, rules.toReversed()]) {
      const decide = createPolicy(policy);
      expect(decide(tool("shop:buy")).action).toBe("allow");
      expect(decide(tool("web:get")).action).toBe("deny");
    }
  });

  it("goes by hints, and takes what is not said for the worst", () => {
    const decide = createPolicy([
      { when: { readOnly: true }, action: "allow" },
      { when: { destructive: true }, action: "deny" },
      { action: "approve" },
    ]);
    expect(decide(tool("a:read", { readOnlyHint: true })).action).toBe("allow");
    expect(decide(tool("a:unknown")).action).toBe("deny");
    expect(decide(tool("a:add", { destructiveHint: false })).action).toBe("approve");
  });

  it("what only reads destroys nothing, and can be repeated", () => {
    const decide = createPolicy([
      { when: { destructive: false, idempotent: true }, action: "allow" },
      { action: "deny" },
    ]);
    expect(decide(tool("a:read", { readOnlyHint: true })).action).toBe("allow");
  });

  it("can be a function", () => {
    const decide = createPolicy(({ server }) => (server === "shop" ? "allow" : "deny"));
    expect(decide(tool("shop:buy")).action).toBe("allow");
    expect(decide(tool("fs:read")).action).toBe("deny");
  });
});
