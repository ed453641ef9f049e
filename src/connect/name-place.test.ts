import { afterEach, describe, expect, it, vi } from "vitest";
import { namePlace } from "./create-connect.ts";
import { readTarget, type Target } from "./target.ts";

const nameOf = (target: Target): string | undefined => namePlace(readTarget(target));

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

describe("the name of a place", () => {
  it.each<[Target, Target]>([
    ["https://shop.example/mcp", new URL("https://shop.example/mcp#part")],
    ["https://SHOP.example:443/mcp", { url: "https://shop.example/mcp", headers: { authorization: "Bearer x" } }],
    ["node shop.js", ["node", "shop.js"]],
    [
      { command: "node", args: ["shop.js"], env: { A: "1", B: "2" } },
      { command: "node", args: ["shop.js"], env: { B: "2", A: "1" }, stderr: "inherit" },
    ],
  ])("of %j is that of %j", (one, other) => {
    expect(nameOf(one)).toBeTypeOf("string");
    expect(nameOf(one)).toBe(nameOf(other));
  });

  it.each<[Target, Target]>([
    ["https://shop.example/mcp", "https://shop.example/mcp/"],
    ["https://shop.example/mcp", "https://shop.example/mcp?tenant=a"],
    ["https://shop.example/mcp", "http://shop.example/mcp"],
    ["node shop.js", "node shop.js --quiet"],
    ["node shop.js", ["node shop.js"]],
    ["node shop.js", { command: "node", args: ["shop.js"], cwd: "/srv" }],
    ["node shop.js", { command: "node", args: ["shop.js"], env: { SHOP: "a" } }],
  ])("of %j is not that of %j", (one, other) => {
    expect(nameOf(one)).not.toBe(nameOf(other));
  });

  it("of a program depends on where it is started, and on what it inherits", () => {
    const [plain, inheriting] = ["node shop.js", { command: "node", args: ["shop.js"], inheritEnv: ["SHOP"] }];
    vi.stubEnv("SHOP", "a");
    const before = [nameOf(plain), nameOf(inheriting)];
    vi.stubEnv("SHOP", "b");
    expect(nameOf(plain)).toBe(before[0]);
    expect(nameOf(inheriting)).not.toBe(before[1]);
    vi.spyOn(process, "cwd").mockReturnValue("/elsewhere");
    expect(nameOf(plain)).not.toBe(before[0]);
  });

  it("is missing where nobody else can connect", () => {
    expect(nameOf(async () => ({ kind: "failed", failure: { code: "internal", message: "" } }))).toBeUndefined();
    expect(
      nameOf({ incoming: (async function* () {})(), send: () => undefined, close: async () => {} }),
    ).toBeUndefined();
  });
});
