import { describe, expect, it } from "vitest";
import { dialectOfPath, dialects } from "./dialects.ts";
import { wellKnownConfigs } from "./environment.ts";

const machines = [
  { cwd: "/home/shop", home: "/home/ada", platform: "linux", env: {} },
  { cwd: "/home/shop", home: "/Users/ada", platform: "darwin", env: {} },
  { cwd: "C:\\shop", home: "C:\\Users\\ada", platform: "win32", env: { APPDATA: "C:\\Users\\ada\\AppData\\Roaming" } },
];

describe("wellKnownConfigs", () => {
  it.each(machines)("on $platform has paths that tell their dialect", (machine) => {
    for (const { path, dialect } of wellKnownConfigs(machine)) {
      // Files of nobody in particular have names that anybody could use.
      if (dialect !== "generic") expect(dialectOfPath(path)?.name, path).toBe(dialect);
    }
  });

  it.each(machines)("on $platform has a place for every dialect", (machine) => {
    const found = new Set(wellKnownConfigs(machine).map(({ dialect }) => dialect));
    expect([...found].toSorted()).toEqual(dialects.map(({ name }) => name).toSorted());
  });

  it.each(machines)("on $platform has those of the user before those of the project", (machine) => {
    const scopes = wellKnownConfigs(machine).map(({ scope }) => scope);
    expect(scopes.lastIndexOf("user")).toBeLessThan(scopes.indexOf("project"));
  });

  it("knows where systems keep settings", () => {
    const places = machines.map(
      (machine) => wellKnownConfigs(machine).find(({ dialect }) => dialect === "claude-desktop")?.path,
    );
    expect(places).toEqual([
      "/home/ada/.config/Claude/claude_desktop_config.json",
      "/Users/ada/Library/Application Support/Claude/claude_desktop_config.json",
      "C:\\Users\\ada\\AppData\\Roaming\\Claude/claude_desktop_config.json",
    ]);
  });

  it("follows variables that move them", () => {
    const env = { XDG_CONFIG_HOME: "/x", CODEX_HOME: "/codex", COPILOT_HOME: "/copilot" };
    const paths = wellKnownConfigs({ cwd: "/w", home: "/h", platform: "linux", env }).map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining(["/x/zed/settings.json", "/codex/config.toml", "/copilot/mcp-config.json"]),
    );
  });
});
