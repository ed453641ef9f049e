import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { findProgram } from "./program.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "plugbay-find-")));
afterAll(() => rmSync(folder, { recursive: true }));

const at = (...names: readonly string[]): string => join(folder, ...names);
for (const name of ["a", "b", "b/dir"]) mkdirSync(at(name));
for (const [name, mode] of [
  ["a/run", 0o644],
  ["b/run", 0o755],
  ["b/only", 0o755],
] as const) {
  writeFileSync(at(name), "#!/bin/sh\n");
  chmodSync(at(name), mode);
}
symlinkSync(at("b", "run"), at("a", "link"));

const system = (platform: NodeJS.Platform, env: Readonly<Record<string, string>>) => ({
  platform,
  env,
  execPath: "/bin/node",
  cwd: () => folder,
});

describe.skipIf(process.platform === "win32")("findProgram", () => {
  const source = system("linux", { PATH: `${at("a")}:${at("b")}` });

  it("finds a name in PATH, and passes over what cannot be started", async () => {
    expect(await findProgram({ command: "run" }, source)).toEqual({
      path: at("b", "run"),
      file: at("b", "run"),
      cwd: folder,
    });
    expect(await findProgram({ command: "dir" }, source)).toEqual({ cwd: folder });
    expect(await findProgram({ command: "none" }, source)).toEqual({ cwd: folder });
  });

  it("follows links, and says both", async () => {
    const found = { path: at("a", "link"), file: at("b", "run"), cwd: folder };
    expect(await findProgram({ command: "link" }, source)).toEqual(found);
    expect(await findProgram({ command: "./a/link" }, source)).toEqual(found);
  });

  it("looks from the folder, and in the PATH, that the program will have", async () => {
    const found = { path: at("b", "only"), file: at("b", "only") };
    expect(await findProgram({ command: "./only", cwd: "b" }, source)).toEqual({ ...found, cwd: at("b") });
    expect(await findProgram({ command: "only", env: { PATH: at("b") } }, system("linux", {}))).toMatchObject(found);
    expect(await findProgram({ command: "only", env: { PATH: ":/none" }, cwd: "b" }, source)).toMatchObject(found);
    expect(await findProgram({ command: "only", env: { PATH: at("a") } }, source)).toEqual({ cwd: folder });
  });

  it("finds what is started by default", async () => {
    const { path, file, cwd } = await findProgram({ command: "sh" });
    expect(path).toMatch(/\/sh$/);
    expect(file).toBe(realpathSync(path ?? ""));
    expect(cwd).toBe(realpathSync(process.cwd()));
  });
});
