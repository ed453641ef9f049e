import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { installedPackages, isInstalledCopy } from "./installed-packages.ts";
import type { Dependencies } from "./package-manifest.ts";

let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "plugbay-packages-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function install(place: string, manifest: object = {}): string {
  const folder = join(root, place);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  return folder;
}

const none: Dependencies = { dependencies: [], optionalDependencies: [], peerDependencies: [] };

async function placesFor(needs: Partial<Dependencies>): Promise<readonly string[]> {
  return (await installedPackages(root, { ...none, ...needs })).map(({ place }) => place);
}

describe("the packages of a project", () => {
  it("are those that it needs, and those that they need", async () => {
    install("node_modules/a", { dependencies: { "@b/c": "1" }, devDependencies: { d: "1" } });
    install("node_modules/@b/c", {
      peerDependencies: { e: "1", f: "1" },
      peerDependenciesMeta: { f: { optional: true } },
    });
    for (const name of ["d", "e", "f"]) install(`node_modules/${name}`);
    expect(await placesFor({ dependencies: ["a"] })).toEqual(["node_modules/@b/c", "node_modules/a", "node_modules/e"]);
  });

  it("are found in two versions where two are needed", async () => {
    install("node_modules/a", { dependencies: { b: "2" } });
    install("node_modules/a/node_modules/b", { dependencies: { c: "1" } });
    install("node_modules/b");
    install("node_modules/c", { dependencies: { a: "1" } });
    expect(await placesFor({ dependencies: ["a", "b"] })).toEqual([
      "node_modules/a",
      "node_modules/a/node_modules/b",
      "node_modules/b",
      "node_modules/c",
    ]);
  });

  it("may be links to folders elsewhere, with packages of their own", async () => {
    install("elsewhere/linked", { dependencies: { deep: "1" } });
    install("elsewhere/linked/node_modules/deep");
    mkdirSync(join(root, "project", "node_modules"), { recursive: true });
    symlinkSync(join(root, "elsewhere", "linked"), join(root, "project", "node_modules", "linked"), "junction");
    const found = await installedPackages(join(root, "project"), { ...none, dependencies: ["linked"] });
    expect(found.map((one) => [one.place, isInstalledCopy(one)])).toEqual([
      ["node_modules/deep", true],
      ["node_modules/linked", false],
    ]);
  });

  it("that are optional may be missing, and others may not", async () => {
    expect(await placesFor({ optionalDependencies: ["gone"] })).toEqual([]);
    await expect(placesFor({ dependencies: ["gone"] })).rejects.toThrow(
      "gone, which this project needs, is not installed",
    );
  });
});
