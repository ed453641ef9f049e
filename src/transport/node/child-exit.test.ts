import { describe, expect, it } from "vitest";
import { describeExit } from "./spawn.ts";

describe("describeExit", () => {
  it("names the command, the exit code and what was said", () => {
    const report = { kind: "exited", exitCode: 1, signal: null, stderr: "boom\n" } as const;
    expect(describeExit(report, { command: "run a.js", answered: false })).toEqual({
      message: 'server "run a.js" exited with code 1 before answering; stderr: boom',
      data: { exitCode: 1, signal: null, stderr: "boom\n" },
    });
  });

  it("names the signal, and nothing that was not said", () => {
    const report = { kind: "exited", exitCode: null, signal: "SIGSEGV", stderr: " \n" } as const;
    expect(describeExit(report, { command: "run", answered: true }).message).toBe('server "run" was killed by SIGSEGV');
  });

  it("says why there never was a server", () => {
    const report = {
      kind: "not-started",
      problem: { reason: "program-not-found", text: "command not found" },
    } as const;
    expect(describeExit(report, { command: "run", answered: false })).toEqual({
      message: 'cannot start "run": command not found',
      data: { reason: "program-not-found" },
    });
  });

  it("repeats no control characters, and only the end of a long text", () => {
    const stderr = `${"first ".repeat(1000)}\u001b[31mred\u001b[0m\u0007\r\nlast`;
    const report = { kind: "exited", exitCode: 1, signal: null, stderr } as const;
    const { message } = describeExit(report, { command: "run", answered: true });
    expect(message).toMatch(/red\nlast$/);
    expect(message.length).toBeLessThan(1100);
  });
});
