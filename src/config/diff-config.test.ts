import { describe, expect, it } from "vitest";
import { type ConfigDiff, diffConfig } from "./explain-config.ts";
import { configFromObject } from "./resolve-config.ts";

function namesOf({ added, removed, changed, same }: ConfigDiff): unknown {
  const names = (servers: readonly { readonly name: string }[]) => servers.map(({ name }) => name);
  return {
    added: names(added),
    removed: names(removed),
    changed: names(changed.map(({ after }) => after)),
    same: names(same),
  };
}

describe("diffConfig", () => {
  it("tells servers apart by name and by everything that matters to them", async () => {
    const before = await configFromObject({
      gone: { command: "x" },
      kept: { command: "x", env: { A: "1", B: "2" } },
      moved: { url: "http://x" },
    });
    const after = await configFromObject({
      moved: { url: "http://y" },
      kept: { env: { B: "2", A: "1" }, command: "x" },
      fresh: { command: "x" },
    });
    expect(namesOf(diffConfig(before, after))).toEqual({
      added: ["fresh"],
      removed: ["gone"],
      changed: ["moved"],
      same: ["kept"],
    });
  });

  it.each([
    [{ env: { KEY: "2" } }],
    [{ env: { KEY: "1" }, disabled: true }],
    [{ env: { KEY: "1" }, timeout: 5 }],
    [{ env: { KEY: "1" }, includeTools: ["a"] }],
    [{ env: { KEY: "1" }, autoApprove: ["a"] }],
    [{ env: { KEY: "1" }, args: ["a"] }],
  ])("sees that %j is different", async (entry) => {
    const before = await configFromObject({ a: { command: "x", env: { KEY: "1" } } });
    const after = await configFromObject({ a: { command: "x", ...entry } });
    expect(diffConfig(before, after).changed).toHaveLength(1);
    expect(diffConfig(after, after).same).toHaveLength(1);
  });

  it("sees a secret that has changed outside of the file", async () => {
    const entry = { a: { command: "x", env: { KEY: `${"$"}{KEY}` } } };
    const [before, after] = await Promise.all([
      configFromObject(entry, { env: { KEY: "1" } }),
      configFromObject(entry, { env: { KEY: "2" } }),
    ]);
    expect(namesOf(diffConfig(before, after))).toEqual({ added: [], removed: [], changed: ["a"], same: [] });
  });

  it("does not care where a server was said, and takes one that is wrong for removed", async () => {
    const before = await configFromObject({ a: { command: "x", comment: "1" }, b: { command: "x" } });
    const after = await configFromObject({ a: { command: "x" }, b: { command: "" } });
    expect(namesOf(diffConfig(before, after))).toEqual({ added: [], removed: ["b"], changed: [], same: ["a"] });
  });
});
