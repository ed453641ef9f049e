import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { commandMask, commandText, toProgram } from "./program.ts";
import { type StartReason, startProblem } from "./start-problem.ts";

describe("commandText", () => {
  it.each<[args: readonly string[], text: string]>([
    [[], "run"],
    [["server.js", "--port", "80"], "run server.js --port 80"],
    [["--api-key=abc", "x"], "run --api-key=*** x"],
    [["--token", "abc", "x"], "run --token *** x"],
    [["GITHUB_TOKEN=abc"], "run GITHUB_TOKEN=***"],
    [["tokens.json", "next"], "run tokens.json next"],
    [["--token=abc", "next"], "run --token=*** next"],
    [["x".repeat(300)], `run ${"x".repeat(196)}...`],
  ])("%j", (args, text) => {
    expect(commandText({ command: "run", args })).toBe(text);
  });
});

describe("commandMask", () => {
  it("hides secrets among arguments, and every variable that a program was given (S12)", () => {
    vi.stubEnv("PLUGBAY_TEST_INHERITED", "an inherited value");
    const args = ["--api-key", "value of a flag", "--port", "8080808080"];
    const command = { command: "run", args, env: { NAME: "a plain value" }, inheritEnv: ["PLUGBAY_TEST_INHERITED"] };
    const text = "value of a flag, 8080808080, a plain value, an inherited value";
    expect(commandMask(command)(text)).toBe("***, 8080808080, ***, ***");
    vi.unstubAllEnvs();
  });

  it("leaves folders and names of users readable, and hides secrets that are inherited", () => {
    vi.stubEnv("PWD", "/home/ada/shop");
    vi.stubEnv("npm_config_local_prefix", "/home/ada/shop-prefix");
    vi.stubEnv("npm_config__authToken", "hunter2hunter2");
    vi.stubEnv("SHOP_SETTING", "blue-and-green");
    onTestFinished(() => void vi.unstubAllEnvs());
    const inheritEnv = ["PWD", "HOME", "PATH", "npm_config_local_prefix", "npm_config__authToken", "SHOP_SETTING"];
    const told = commandMask({ command: "run", inheritEnv })(
      "/home/ada/shop/none.mjs /home/ada/shop-prefix hunter2hunter2 blue-and-green",
    );
    expect(told).toBe("/home/ada/shop/none.mjs /home/ada/shop-prefix *** ***");
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
  it.each<[code: string | undefined, command: string, reason: StartReason, text: string]>([
    ["ENOENT", "run-4711", "program-not-found", "command not found: it is not in PATH"],
    [
      "ENOENT",
      "node server.js",
      "program-not-found",
      "command not found: it is not in PATH; put its arguments into args",
    ],
    ["ENOENT", "/no/such/file", "program-not-found", "no such file"],
    ["EACCES", "run-4711", "permission-denied", "permission denied"],
    ["EPERM", process.execPath, "permission-denied", "permission denied"],
    ["EINVAL", "C:\\run.cmd", "not-executable", "a batch file needs a shell; start what it runs"],
    ["EINVAL", "run", "not-started", "EINVAL"],
    ["E2BIG", "run", "not-started", "arguments and environment are too long"],
    [undefined, "run", "not-started", "odd"],
  ])("%s for %s (X17)", (code, command, reason, text) => {
    const error = Object.assign(new Error("odd"), code && { code });
    expect(startProblem({ command }, error)).toEqual({ reason, text });
  });
});
