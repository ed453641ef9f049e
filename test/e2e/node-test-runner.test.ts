import { describe, expect, it } from "vitest";
import { script } from "./support/places.ts";
import { run } from "./support/run.ts";

const program = script("test/fixtures/matchers.node-test.mjs");

describe("assertToolResult under node:test", () => {
  it("passes what is right, and fails what is not, by a message that node:test shows", async () => {
    const { stdout } = await run({
      ...program,
      args: ["--test", "--test-reporter=tap", ...program.args],
    });
    expect(stdout).toMatch(/^# pass 3$/m);
    expect(stdout).toMatch(/^# fail 1$/m);
    expect(stdout).toMatch(/not ok \d+ - is told what differs/);
    expect(stdout).toContain("bought A1");
  });
});
