import { describe, expect, it } from "vitest";
import { baseName, folderOf, isAbsolute, joinPath, projectFolder } from "./environment.ts";

describe("paths", () => {
  it.each([
    ["/home", "a/b", "/home/a/b"],
    ["/home/", "./a", "/home/a"],
    ["/", "a", "/a"],
    ["/home", "/a", "/a"],
    ["", "a", "a"],
    ["C:\\work", "a", "C:\\work\\a"],
    ["C:\\work", "D:\\a", "D:\\a"],
    ["/home", "../a", "/home/../a"],
  ])("in %s, %s is %s", (folder, path, joined) => {
    expect(joinPath(folder, path)).toBe(joined);
  });

  it.each([
    ["/home/shop/mcp.json", "/home/shop"],
    ["/home/shop/.vscode/mcp.json", "/home/shop"],
    ["/home/shop/.kiro/settings/mcp.json", "/home/shop"],
    ["C:\\shop\\.cursor\\mcp.json", "C:\\shop"],
    ["mcp.json", ""],
    [".vscode/mcp.json", ""],
  ])("%s is for the project in %j", (path, folder) => {
    expect(projectFolder(path)).toBe(folder);
  });

  it("knows folders, names and beginnings", () => {
    expect([folderOf("/a"), folderOf("/a/b"), folderOf("a")]).toEqual(["/", "/a", ""]);
    expect([baseName("/a/b/"), baseName("C:\\a"), baseName("a")]).toEqual(["b", "a", "a"]);
    expect(["/a", "C:/a", "\\\\h\\a", "a", "./a"].map(isAbsolute)).toEqual([true, true, true, false, false]);
  });
});
