import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { safePath } from "./safe-path.ts";

let place: string;
let root: string;

beforeAll(() => {
  place = realpathSync(mkdtempSync(join(tmpdir(), "plugbay-files-")));
  root = join(place, "notes");
  mkdirSync(join(root, "2026"), { recursive: true });
  mkdirSync(join(place, "notes-of-others"));
  writeFileSync(join(root, "a.md"), "a");
  writeFileSync(join(root, "2026", "b c.md"), "b");
  writeFileSync(join(place, "secret.md"), "secret");
  writeFileSync(join(place, "notes-of-others", "c.md"), "c");
});

afterAll(() => rmSync(place, { recursive: true, force: true }));

const refused = (message: RegExp) => ({
  name: "McpError",
  code: "invalid-params",
  message: expect.stringMatching(message),
});

describe("safePath", () => {
  it("gives the path of a file within the folder, whether it is there or not", async () => {
    expect(await safePath(root, "a.md")).toBe(join(root, "a.md"));
    expect(await safePath(root, "2026/b c.md")).toBe(join(root, "2026", "b c.md"));
    expect(await safePath(root, "2026")).toBe(join(root, "2026"));
    expect(await safePath(root, "2027/new/d.md")).toBe(join(root, "2027", "new", "d.md"));
    expect(await safePath(`${root}/`, "..a/b..c/.hidden")).toBe(join(root, "..a", "b..c", ".hidden"));
    expect(await safePath("/", "tmp-of-nobody")).toBe("/tmp-of-nobody");
  });

  it.each([
    ["../secret.md", /has an empty part, \. or \.\. in it/],
    ["2026/../../secret.md", /\.\./],
    ["..", /\.\./],
    [".", /empty part, \./],
    ["a//b", /empty part/],
    ["2026/", /empty part/],
    ["", /is empty/],
    ["/etc/passwd", /is absolute/],
    ["//host/share", /is absolute/],
    ["a.md\0.png", /control characters/],
    ["a\nb", /control characters/],
    ["a\ud800", /half a character/],
    ["C:/Windows/win.ini", /begins with a drive/],
    ["c:secret", /begins with a drive/],
    ["..\\secret.md", /backslash/],
    ["\\\\?\\C:\\x", /backslash/],
    ["..%2fsecret.md", /percent-encoded/],
    ["..%5Csecret.md", /percent-encoded/],
    ["%2e%2e/secret.md", /percent-encoded/],
    ["a%00.md", /percent-encoded/],
    ["a.md:stream", /has one of :/],
    ["a.md::$DATA", /has one of :/],
    ["a?", /has one of :/],
    ["a.md.", /ends with a dot or a space/],
    ["... /a", /ends with a dot or a space/],
    ["NUL", /device/],
    ["2026/con.txt", /device/],
    ["aux .md", /device/],
    ["com1", /device/],
    ["LPT\u00b2.md", /device/],
    ["conin$", /device/],
    ["x".repeat(4_097), /longer than 4096/],
  ])("refuses %j", async (name, message) => {
    await expect(safePath(root, name)).rejects.toMatchObject(refused(message));
  });

  it.each(["const.md", "console", "nullable", "comb", "com10", "auxiliary.md", "lpt", "100%.md", "%41.md", "~", "-rf"])(
    "takes %j",
    async (name) => {
      expect(await safePath(root, name)).toBe(join(root, name));
    },
  );

  it.skipIf(process.platform === "win32")(
    "follows links within the folder, and refuses those that leave it",
    async () => {
      symlinkSync(join(root, "2026"), join(root, "latest"));
      symlinkSync("../secret.md", join(root, "out.md"));
      symlinkSync(place, join(root, "up"));
      symlinkSync(join(place, "notes-of-others"), join(root, "neighbour"));
      symlinkSync(join(place, "not-there-yet"), join(root, "dangling"));
      symlinkSync("loop", join(root, "loop"));
      symlinkSync(root, join(place, "alias"));
      expect(await safePath(root, "latest/b c.md")).toBe(join(root, "2026", "b c.md"));
      expect(await safePath(root, "latest/new.md")).toBe(join(root, "2026", "new.md"));
      expect(await safePath(join(place, "alias"), "a.md")).toBe(join(root, "a.md"));
      for (const name of ["out.md", "up/secret.md", "up/new.md", "up/new/folder", "neighbour/c.md", "up"])
        await expect(safePath(root, name)).rejects.toMatchObject(refused(/leads out of the folder$/));
      for (const name of ["dangling", "dangling/a.md"])
        await expect(safePath(root, name)).rejects.toMatchObject(refused(/leads nowhere$/));
      await expect(safePath(root, "loop")).rejects.toMatchObject(refused(/cannot be opened \(ELOOP\)$/));
      await expect(safePath(root, "a.md/b")).rejects.toMatchObject(refused(/cannot be opened \(ENOTDIR\)$/));
    },
  );

  it("tells clients nothing of the folder, and whoever runs the server which one is missing", async () => {
    const error: unknown = await safePath(root, "../../../etc/passwd").catch((reason) => reason);
    expect(String(error)).not.toContain(root);
    await expect(safePath(join(place, "none"), "a.md")).rejects.toMatchObject({
      code: "invalid-definition",
      message: `safePath: the folder ${join(place, "none")} cannot be opened: ENOENT`,
    });
    await expect(safePath(root, `\u202e${"x".repeat(300)}/..`)).rejects.toThrow(/^the path ".{100}"… has/);
  });

  it("never leaves the folder, whatever it is given (H23)", async () => {
    const part = fc.oneof(
      fc.constantFrom("..", ".", "", "up", "out.md", "2026", "a.md", "..%2f", "\\", "C:", "latest", "neighbour", "~"),
      fc.string({ unit: "binary", maxLength: 4 }),
    );
    const names = fc.array(part, { maxLength: 5 }).map((parts) => parts.join("/"));
    await fc.assert(
      fc.asyncProperty(names, async (name) => {
        const path = await safePath(root, name).catch(() => undefined);
        expect(path === undefined || path.startsWith(`${root}/`)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});
