import { describe, expect, it } from "vitest";
import { script } from "../e2e/support/places.ts";
import { run } from "../e2e/support/run.ts";

/** One cell: the share of the bare limit that is reached, and that must be. */
interface Share {
  readonly name: string;
  readonly share: number;
  readonly atLeast: number;
}

const gate = async (...args: readonly string[]): Promise<readonly Share[]> => {
  const { stdout, stderr } = await run(script("bench/gate.mjs", ...args));
  if (stdout === "") throw new Error(stderr);
  return JSON.parse(stdout);
};

const missed = (shares: readonly Share[]): readonly Share[] => shares.filter(({ share, atLeast }) => share < atLeast);

describe("speed", () => {
  it("is as near to the bare limit as it was", async () => {
    const shares = await gate();
    expect(shares.map(({ name }) => name)).toEqual(["in process", "stdio", "HTTP modern", "HTTP session"]);
    expect(missed(shares)).toEqual([]);
  }, 120_000);

  it("would be missed: a schema made for every call is noticed", async () => {
    const shares = await gate("--only", "in process", "--slow", "schema");
    expect(missed(shares)).toHaveLength(1);
  });
});
