import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../e2e/support/places.ts";

// The package as npm makes it, unpacked: what somebody has who installed it.

const execute = promisify(execFile);

describe("the packed package", () => {
  let folder: string;
  let unpacked: string;

  beforeAll(async () => {
    mkdirSync(join(root, ".tmp"), { recursive: true });
    folder = mkdtempSync(join(root, ".tmp", "packed-"));
    const args = ["pack", "--ignore-scripts", "--json", "--pack-destination", folder];
    await execute("npm", args, { cwd: root, maxBuffer: 1 << 26, shell: process.platform === "win32" });
    const [archive = ""] = readdirSync(folder);
    await execute("tar", ["-xzf", archive], { cwd: folder });
    unpacked = join(folder, "package");
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const pages = (): readonly string[] =>
    readdirSync(unpacked, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".md"));

  it("has the guides and the examples (X19)", () => {
    for (const kind of ["docs", "examples"]) {
      expect(readdirSync(join(unpacked, kind)).toSorted()).toEqual(readdirSync(join(root, kind)).toSorted());
    }
  });

  it("has files for Node in ASCII alone, which take V8 half as long to read", () => {
    const bundled = join(unpacked, "dist", "node");
    const files = readdirSync(bundled, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".js"));
    const others = files.filter((name) => /[\u0080-\uffff]/.test(readFileSync(join(bundled, name), "utf8")));
    expect(files).not.toHaveLength(0);
    expect(others).toEqual([]);
  });

  it("has pages whose relative links lead to something in the package (X19)", () => {
    const broken = pages().flatMap((page) => {
      const prose = readFileSync(join(unpacked, page), "utf8").replaceAll(/^```.*?^```/gms, "");
      const targets = [...prose.matchAll(/\]\(([^)\s#]+)[^)]*\)/g)].map(([, target = ""]) => target);
      const local = targets.filter((target) => !/^[a-z]+:/.test(target));
      return local.filter((target) => !existsSync(join(unpacked, dirname(page), target))).map((it) => `${page}: ${it}`);
    });
    expect(pages().length).toBeGreaterThan(25);
    expect(broken).toEqual([]);
  });

  it("has examples that run where they were unpacked (X19)", async () => {
    symlinkSync(join(root, "node_modules"), join(unpacked, "node_modules"));
    const { stdout } = await execute(process.execPath, [join(unpacked, "examples", "typed-call.mjs")]);
    expect(stdout).not.toBe("");
  });

  it("says where its sources, its issues and its pages are (X19)", () => {
    const { repository, bugs, homepage } = JSON.parse(readFileSync(join(unpacked, "package.json"), "utf8"));
    expect(repository).toEqual({ type: "git", url: "git+https://github.com/plugbay/plugbay.git" });
    expect(bugs).toBe("https://github.com/plugbay/plugbay/issues");
    expect(homepage).toBe("https://github.com/plugbay/plugbay#readme");
  });
});
