import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { root } from "../e2e/support/places.ts";
import { quietPort } from "../support/quiet-port.ts";
import { createHome, type Home, json, plugbay, shop, shopFile } from "./support/cli.ts";

// `plugbay test`, as a real process.

let home: Home;
beforeAll(() => {
  home = createHome();
});

const good = `
target: ${JSON.stringify(`"${process.execPath}" "${shopFile}"`)}
tests:
  - name: buys
    call: buy
    arguments: { sku: A1, quantity: 2 }
    expect: { contains: [A1, '"quantity":2'] }
  - call: articles
    expect:
      structured: { articles: [{ sku: A1 }, { price: 12.5 }] }
      matches: '^\\{'
      withinMs: 60000
  - call: refuse
    expect: { error: sold out }
  - call: buy
    expect: { error: true }
  - read: stock://A1
    expect: { text: stock of A1 }
  - prompt: upsell
    arguments: { sku: A1 }
    expect: { contains: add-on for A1, result: { messages: [{ role: user }] } }
`;

describe("test", () => {
  it("runs calls, reads and prompts, in YAML", async () => {
    home.write("good.yaml", good);
    const ended = await plugbay(home, ["test", "good.yaml"]);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(ended.stdout).toContain("6 passed, 0 failed");
  });

  it("reads JSON with comments, and another target", async () => {
    home.write("good.jsonc", '{ /* one */ "target": "nobody", "tests": [{ "call": "articles" }] }');
    expect((await plugbay(home, ["test", "good.jsonc", ...shop])).code).toBe(0);
    expect((await plugbay(home, ["test", "good.jsonc", "--target", shopFile])).code).toBe(0);
  });

  it("says what is not as expected, in text, JSON and JUnit, and ends with 1", async () => {
    home.write(
      "bad.yaml",
      `
tests:
  - { name: "a <b>", call: buy, arguments: { sku: A1 }, expect: { text: other } }
  - { name: structure, call: articles, expect: { structured: { articles: [{ sku: B1 }, {}] } } }
  - { name: fails, call: refuse }
  - { name: no failure, call: articles, expect: { error: true } }
  - { name: another failure, call: refuse, expect: { error: sold in } }
  - { name: passes, call: articles }
`,
    );
    const { code, stdout } = await plugbay(home, ["test", "bad.yaml", "--junit", "junit.xml", ...shop]);
    expect(code).toBe(1);
    expect(stdout).toContain("1 passed, 5 failed");
    for (const said of ['structured.articles[0].sku is "A1", and not "B1"', "it failed: sold out", "it did not fail"])
      expect(stdout).toContain(said);
    const xml = readFileSync(join(home.folder, "junit.xml"), "utf8");
    expect(xml).toContain('tests="6" failures="5"');
    expect(xml).toContain('name="a &lt;b&gt;"');
    const ended = await plugbay(home, ["test", "bad.yaml", "--json", ...shop]);
    expect(ended.code).toBe(1);
    expect(json(ended)).toMatchObject({ passed: 1, failed: 5 });
  });

  it("compares the surface with a snapshot, which it writes only when told to", async () => {
    home.write("surface.yaml", "snapshot: true\n");
    const snapshot = join(home.folder, "surface.yaml.snapshot");
    const first = await plugbay(home, ["test", "surface.yaml", ...shop]);
    expect(first.code).toBe(1);
    expect(first.stdout).toContain("--update");
    expect(existsSync(snapshot)).toBe(false);
    expect((await plugbay(home, ["test", "surface.yaml", "--update", ...shop])).code).toBe(0);
    expect((await plugbay(home, ["test", "surface.yaml", ...shop])).code).toBe(0);
    const other = home.write("changed.mjs", readFileSync(shopFile, "utf8"));
    const changed = readFileSync(other, "utf8")
      .replace('"plugbay/server"', JSON.stringify(import.meta.resolve("plugbay/server")))
      .replace('"plugbay/stdio"', JSON.stringify(import.meta.resolve("plugbay/stdio")))
      .replace("Buys an article", "Sells an article");
    home.write("changed.mjs", changed);
    const { code, stdout } = await plugbay(home, ["test", "surface.yaml", "--target", other]);
    expect(code).toBe(1);
    expect(stdout).toContain("+ Sells an article");
  });

  it.each([
    ["a file that is not there", undefined, "none.yaml", "none.yaml"],
    ["a broken file", "tests: [", "broken.yaml", "broken.yaml:1:"],
    ["a member that is not known", "tests: [{ call: x, expects: {} }]", "member.yaml", "expects is not known"],
    ["two actions", "tests: [{ call: x, read: y }]", "two.yaml", "one of call, read and prompt"],
    ["no tests", "tests: []", "no.yaml", "a list of tests"],
    ["a bad pattern", "tests: [{ call: x, expect: { matches: '(' } }]", "pattern.yaml", "regular expression"],
    ["no target", "tests: [{ call: x }]", "target.yaml", "--target"],
  ])("refuses %s", async (_, text, name, said) => {
    if (text !== undefined) home.write(name, text);
    const { code, stderr } = await plugbay(home, ["test", name]);
    expect(code).toBe(2);
    expect(stderr).toContain(said);
  });

  it("of a server that cannot be reached ends with 3, and of one that wants a sign-in with 4", async () => {
    home.write("one.yaml", "tests: [{ call: x }]");
    const closed = `http://127.0.0.1:${await quietPort()}/mcp`;
    expect((await plugbay(home, ["test", "one.yaml", "--target", closed])).code).toBe(3);
    const dead = join(root, "test", "fixtures", "children", "dies-at-once.mjs");
    const { code, stderr } = await plugbay(home, ["test", "one.yaml", "--", process.execPath, dead]);
    expect(code).toBe(3);
    expect(stderr).toContain("no key");
    const site = createServer((_, response) => response.writeHead(401, { "www-authenticate": "Bearer" }).end());
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
    const guarded = `http://127.0.0.1:${(site.address() as AddressInfo).port}/mcp`;
    expect((await plugbay(home, ["test", "one.yaml", "--target", guarded])).code).toBe(4);
    site.close();
    site.closeAllConnections();
  });

  it("of a tool that ends the server fails the test", async () => {
    home.write("crash.yaml", "tests: [{ call: crash }]");
    const { code, stdout } = await plugbay(home, ["test", "crash.yaml", ...shop]);
    expect(code).toBe(1);
    expect(stdout).toContain("out of paper");
  });
});
