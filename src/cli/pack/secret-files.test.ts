import { describe, expect, it } from "vitest";
import { isLeftOut, secretReason } from "./secret-files.ts";

const bytes = (text: string): Uint8Array => Buffer.from(text);

describe("files that are never packed", () => {
  it.each([".env", "a/.env.local", ".npmrc", "keys/tls.pem", "id_ed25519", "C.KEY", "x/.git/config", "a\\.env"])(
    "%s is one",
    (path) => expect(isLeftOut(path)).toBe(true),
  );

  it.each(["environment.js", "src/key.ts", "keyboard.json", ".gitignore", "pem.md"])("%s is none", (path) =>
    expect(isLeftOut(path)).toBe(false),
  );
});

describe("files that look like secrets", () => {
  it.each(["secrets.yaml", "config/credentials.json", "client_secret_123.json", "serviceAccount.json", ".pgpass"])(
    "%s is one by its name",
    (path) => expect(secretReason(path, bytes("{}"))).toContain("name"),
  );

  it.each([
    `AKIA${"A1".repeat(8)}`,
    `sk-ant-${"api03-x".repeat(4)}`,
    `glpat-${"a1-".repeat(8)}`,
    `//registry.npmjs.org/:_authToken = ${"0a".repeat(10)}`,
    `-----BEGIN OPENSSH ${"PRIVATE"} KEY-----\nb3Bl`,
  ])("a text with %s is one", (text) => expect(secretReason("a.js", bytes(`x = "${text}"`))).toBeDefined());

  it.each(["secret.ts", "src/credentials/index.js", "token.js", "README.md"])("%s is none", (path) =>
    expect(secretReason(path, bytes("const token = process.env.TOKEN; // sk-..., ghp_..."))).toBeUndefined(),
  );
});
