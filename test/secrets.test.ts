import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { findLeaks, recordedIn } from "../scripts/secrets.mjs";

const token = { kind: "access token", text: "a".repeat(20) };
const key = { kind: "private key", text: "k".repeat(20) };

describe("secrets in logs", () => {
  it("are found wherever they are, and named by kind only", () => {
    const logs = { "one.log": `x${token.text}y`, "two.log": `${key.text}\n${token.text}`, "three.log": "nothing" };
    const leaks = findLeaks([token, key], logs);
    expect(leaks).toEqual(["access token in one.log", "access token in two.log", "private key in two.log"]);
  });

  it("are told once by kind and log", () => {
    const other = { ...token, text: "b".repeat(20) };
    expect(findLeaks([token, other], { log: token.text + other.text })).toEqual(["access token in log"]);
  });

  it("are not found where there are none", () => {
    expect(findLeaks([token, key], { log: token.text.slice(1), empty: "" })).toEqual([]);
    expect(findLeaks([], { log: token.text })).toEqual([]);
  });
});

describe("secrets that were noted", () => {
  it("are read from all files, each once", () => {
    const folder = mkdtempSync(join(tmpdir(), "plugbay-secrets-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const [first, second] = [token, key].map((secret) => `${JSON.stringify(secret)}\n`);
    writeFileSync(join(folder, "1.jsonl"), `${first}${second}`);
    writeFileSync(join(folder, "2.jsonl"), `${first}`);
    expect(recordedIn(folder)).toEqual([token, key]);
    expect(recordedIn(join(folder, "missing"))).toEqual([]);
  });
});
