import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../e2e/support/places.ts";
import { createHome, json, plugbay, shop } from "./support/cli.ts";

// `plugbay skills`, as a real process.

const home = createHome();
const skilled = ["--", process.execPath, join(root, "test", "fixtures", "children", "skills-server.mjs")];
const refunds = "skill://billing/refunds/SKILL.md";

describe("skills", () => {
  it("lists the skills on all pages, and says which entry is none", async () => {
    const { code, stdout, stderr } = await plugbay(home, ["skills", ...skilled]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^refunds +skill:\/\/billing\/refunds\/SKILL\.md +1 file, 76 bytes +Gives money/m);
    expect(stdout).toMatch(/^daily +skill:\/\/daily\/SKILL\.md +dynamic +Reports the day$/m);
    expect(stderr).toContain("skill 2 of the list is left out");
  });

  it.each(["2025-11-25", "2026-07-28"])("writes JSON as the protocol has it, in %s", async (revision) => {
    const ended = await plugbay(home, ["skills", "--json", "--revision", revision, ...skilled]);
    expect(json(ended)).toMatchObject({
      skills: [{ uri: refunds, frontmatter: { license: "MIT" } }, { resources: "dynamic" }],
    });
  });

  it("shows one with its files, also one that is not listed", async () => {
    const { code, stdout } = await plugbay(home, ["skills", refunds, ...skilled]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ {2}license +MIT$/m);
    expect(stdout).toMatch(/^ {2}skill:\/\/billing\/refunds\/SKILL\.md +76 +sha256:[\da-f]{64}$/m);
    const hidden = await plugbay(home, ["skills", "skill://hidden/SKILL.md", ...skilled]);
    expect(hidden).toMatchObject({ code: 0, stdout: expect.stringContaining("Is in no list") });
  });

  it("ends with 1 for a skill that there is not", async () => {
    const ended = await plugbay(home, ["skills", "skill://none/SKILL.md", "--json", ...skilled]);
    expect(ended.code).toBe(1);
    expect(json(ended)).toMatchObject({ error: { code: "invalid-params" } });
  });

  it("says that a server has no skills, and names the extension", async () => {
    const { code, stdout, stderr } = await plugbay(home, ["skills", ...shop]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("it does not declare the extension io.modelcontextprotocol/skills");
  });

  it("lets no server move the cursor, with what it lists or with an error", async () => {
    const listed = await plugbay(home, ["skills", ...skilled]);
    const failed = await plugbay(home, ["skills", "skill://\u001b[31mred", ...skilled]);
    expect(listed.stdout).toContain("\\u{1b}[31m");
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining("\\u{1b}[31mred") });
    expect(listed.stdout + failed.stderr).not.toContain("\u001b");
  });

  it("takes one URI", async () => {
    expect(await plugbay(home, ["skills", refunds, refunds, ...skilled])).toMatchObject({ code: 2, stdout: "" });
  });
});
