import { expect, it } from "vitest";
import { createServer } from "./server.ts";

it.each(["", "short", "x".repeat(15)])("refuses the secret %j, which could be guessed", (secret) => {
  const stateKeys = ["x".repeat(16), secret];
  expect(() => createServer({ name: "shop", version: "1", stateKeys })).toThrow(
    "each of stateKeys must have at least 16 characters",
  );
});
