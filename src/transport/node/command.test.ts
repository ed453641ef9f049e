import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { commandText, startProblem, toProgram } from "./command.ts";

describe("commandText", () => {
  it.each<[args: readonly string[], text: string]>([
    [[], "run"],
    [["server.js", "--port", "80"], "run server.js --port 80"],
    [["--api-key=abc", "x"], "run --api-key=[REDACTED] x"],
    [["--token", "abc", "x"], "run --token [REDACTED] x"],
    [["GITHUB_TOKEN=abc"], "run GITHUB_TOKEN=[REDACTED]"],
    [["tokens.json", "next"], "run tokens.json next"],
    [["--token=abc", "next"], "run --token=[REDACTED] next"],
    [["x".repeat(300)], `run ${"x".repeat(196)}...`],
  ])("%j", (args, text) => {
    expect(commandText({ command: "run", args })).toBe(text);
  });
});

describe("toProgram", () => {
  it("leaves a command as it is", () => {
    expect(toProgram({ command: "npx", args: ["-y", "a & b"] }, { platform: "linux", execPath: "/bin/node" })).toEqual({
      file: "npx",
      args: ["-y", "a & b"],
    });
  });

  it("runs npm and npx without their batch files on Windows", () => {
    const folder = mkdtempSync(join(tmpdir(), "plugbay-"));
    const script = join(folder, "node_modules", "npm", "bin", "npx-cli.js");
    mkdirSync(join(script, ".."), { recursive: true });
    writeFileSync(script, "");
    const system = { platform: "win32", execPath: join(folder, "node.exe") } as const;
    expect(toProgram({ command: "NPX.cmd", args: ["a & b"] }, system)).toEqual({
      file: system.execPath,
      args: [script, "a & b"],
    });
    expect(toProgram({ command: "npm" }, system)).toEqual({ file: "npm", args: [] });
    expect(toProgram({ command: "uvx" }, system)).toEqual({ file: "uvx", args: [] });
    rmSync(folder, { recursive: true });
  });
});

describe("startProblem", () => {
  it.each<[code: string | undefined, command: string, problem: string]>([
    ["ENOENT", "run", "command not found"],
    ["EACCES", "run", "permission denied"],
    ["EINVAL", "C:\\run.cmd", "a batch file needs a shell; start what it runs"],
    ["EINVAL", "run", "EINVAL"],
    [undefined, "run", "odd"],
  ])("%s for %s", (code, command, problem) => {
    expect(startProblem({ command }, Object.assign(new Error("odd"), code && { code }))).toBe(problem);
  });
});
