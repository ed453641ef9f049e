import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createServer } from "../server/server.ts";
import { readStateKeys } from "./state-keys.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

describe("keys that seal state", () => {
  it.each([
    "",
    "short",
    "only for this example",
    "correct-horse-battery-staple-and-many-more-words-in-a-row",
    "x".repeat(64),
    "0123456789abcdef0123456789abcdef",
    "fLNrCJkrN1lXNkYDYvSPvsxB5lOU5lVNdZ2RTE7Rsg", // 31 bytes
    "7cb36b08992b3759573646036 2f48fbecc41e65394e6554d759d914c4ed1b2f0",
  ])("are refused where they can be guessed, with a way to make one: %j (S13)", (key) => {
    const make = () => createServer({ name: "shop", version: "1", stateKeys: [randomKey(), key] });
    expect(make).toThrow(
      expect.objectContaining({
        code: "invalid-definition",
        message:
          "key 2 of stateKeys must be 32 random bytes or more, in hex or base64; make one with: openssl rand -base64 32",
      }),
    );
  });

  it("are missing where the variable of a list is not set: the error names which", () => {
    const { PLUGBAY_TEST_KEY } = process.env;
    const make = () => createServer({ name: "shop", version: "1", stateKeys: [randomKey(), PLUGBAY_TEST_KEY] });
    expect(make).toThrow(
      expect.objectContaining({
        code: "invalid-definition",
        message: expect.stringContaining("key 2 of stateKeys is missing"),
      }),
    );
  });

  it("are refused in the environment as well (S13)", () => {
    vi.stubEnv("PLUGBAY_STATE_KEYS", `${randomKey()}, only for this example`);
    expect(() => readStateKeys(undefined)).toThrow("key 2 of PLUGBAY_STATE_KEYS must be 32 random bytes");
  });

  it("are taken in every form in which random bytes are written (S13)", () => {
    for (let round = 0; round < 500; round++) {
      const bytes = randomBytes(32 + (round % 3));
      const keys = (["hex", "base64", "base64url"] as const).map((form) => bytes.toString(form));
      expect(readStateKeys(keys)).toBe(keys);
    }
    expect(readStateKeys([randomKey().toUpperCase()].map((key) => Buffer.from(key).toString("hex")))).toHaveLength(1);
  });
});

function randomKey(): string {
  return randomBytes(32).toString("base64url");
}
