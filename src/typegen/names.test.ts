import { describe, expect, it } from "vitest";
import { createNames, pascalCase } from "./definitions.ts";

describe("pascalCase", () => {
  it.each([
    ["github", "Github"],
    ["my-server_v2 (beta)", "MyServerV2Beta"],
    ["gitHub", "GitHub"],
    ["Café", "Cafe"],
    ["3d-tools", "X3dTools"],
    ["数据", "X"],
    ["", "X"],
    ["__proto__", "Proto"],
    ["a*/b\u202e", "AB"],
  ])("makes %j to %s", (text, name) => {
    expect(pascalCase(text, "X")).toBe(name);
  });

  it("makes short names of long ones", () => {
    expect(pascalCase("x".repeat(10_000), "X")).toHaveLength(64);
  });
});

describe("createNames", () => {
  it("gives every name once", () => {
    const names = createNames(["Client"]);
    const claimed = ["A", "A", "A2", "A", "A0", "A0", "Client"].map((name) => names.claim(name));
    expect(claimed).toEqual(["A", "A2", "A2_2", "A3", "A0", "A0_2", "Client2"]);
  });

  it("takes no longer for many of the same", () => {
    const names = createNames([]);
    const claimed = new Set(Array.from({ length: 20_000 }, () => names.claim("A")));
    expect(claimed.size).toBe(20_000);
  });
});
