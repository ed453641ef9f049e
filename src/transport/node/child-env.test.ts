import { describe, expect, it } from "vitest";
import { childEnv } from "./program.ts";

const ours = {
  HOME: "/home/me",
  PATH: "/bin",
  AWS_SECRET_ACCESS_KEY: "s3cr3t",
  BASH_FUNC_x: "() { :; }",
  SHELL: "() { echo pwned; }",
  HTTPS_PROXY: "http://proxy",
};
const posix = { env: ours, platform: "linux" } as const;
const windows = { env: { PATH: "C:\\bin", APPDATA: "C:\\me", HOME: "C:\\me" }, platform: "win32" } as const;

describe("childEnv", () => {
  it("passes on what is safe, and never a shell function", () => {
    expect(childEnv({}, posix)).toEqual({ HOME: "/home/me", PATH: "/bin" });
    expect(childEnv({ inheritEnv: ["BASH_FUNC_x"] }, posix)).toEqual({ HOME: "/home/me", PATH: "/bin" });
    expect(childEnv({}, windows)).toEqual({ PATH: "C:\\bin", APPDATA: "C:\\me" });
  });

  it("passes on what is named, where we have it", () => {
    const env = childEnv({ inheritEnv: ["HTTPS_PROXY", "NO_SUCH"] }, posix);
    expect(env).toEqual({ HOME: "/home/me", PATH: "/bin", HTTPS_PROXY: "http://proxy" });
  });

  it("lets what is configured win, also where names differ only in case", () => {
    expect(childEnv({ env: { PATH: "/opt", TOKEN: "t" } }, posix)).toEqual({
      HOME: "/home/me",
      PATH: "/opt",
      TOKEN: "t",
    });
    expect(childEnv({ env: { Path: "C:\\opt" } }, windows)).toEqual({ Path: "C:\\opt", APPDATA: "C:\\me" });
  });
});
