import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { find } from "../../scripts/system-programs.mjs";
import { script } from "../e2e/support/places.ts";
import { run } from "../e2e/support/run.ts";
import { until } from "../fixtures/children/processes.ts";
import { createHome, type Home, shop, shopFile } from "./support/cli.ts";
import { inTerminal, keys, python } from "./support/terminal.ts";

// What people see and type: every run is in a terminal.

let home: Home;
beforeAll(() => {
  home = createHome();
  home.write("mcp.json", { mcpServers: { shop: { command: process.execPath, args: [shopFile] } } });
});

describe.skipIf(python === undefined)("a terminal", () => {
  it("shows a progress bar, and Ctrl-C cancels the call", async () => {
    const log = home.write("cancelled.log", "");
    const session = await inTerminal(
      home,
      ["call", "deliver", "--env", `SHOP_LOG=${log}`, ...shop],
      [
        { expect: " 50 % ", send: "" },
        { expect: "packing", send: keys.ctrlC },
      ],
    );
    expect(session).toMatchObject({ failed: null, left: [], code: 130 });
    expect(session.text).toMatch(/deliver ▕█{10} {10}▏ {2}50 % \d+\.\d s · packing/);
    expect(session.text).toContain("interrupted");
    await until(() => readFileSync(log, "utf8").includes("cancelled"));
  });

  it("asks a form, and checks what is typed", async () => {
    const session = await inTerminal(
      home,
      ["call", "shop:order"],
      [
        { expect: "name", send: `A${keys.enter}` },
        { expect: "this needs at least 2 characters", send: `nn${keys.enter}` },
        { expect: "age (integer), optional", send: `seven${keys.enter}` },
        { expect: "this must be a number", send: `\u007f\u007f\u007f\u007f\u007f17${keys.enter}` },
        { expect: "this must be at least 18", send: `\u007f9${keys.enter}` },
        { expect: "express, optional", send: keys.y },
        { expect: "size", send: `${keys.down}${keys.enter}` },
        { expect: "Send this?", send: keys.enter },
      ],
    );
    expect(session).toMatchObject({ failed: null, left: [], code: 0 });
    expect(session.text).toContain("shop asks: Where to?");
    expect(session.text).toContain('accept {"name":"Ann","age":19,"express":true,"size":"M"}');
  });

  it("declines a form", async () => {
    const session = await inTerminal(
      home,
      ["call", "shop:order"],
      [
        { expect: "name", send: `Ann${keys.enter}` },
        { expect: "age", send: keys.enter },
        { expect: "express", send: keys.n },
        { expect: "size", send: keys.enter },
        { expect: "Send this?", send: `${keys.down}${keys.down}${keys.enter}` },
      ],
    );
    expect(session).toMatchObject({ failed: null, code: 0 });
    expect(session.text).toContain("decline {}");
  });

  it("ends a question and the call with Ctrl-C", async () => {
    const session = await inTerminal(home, ["call", "shop:order"], [{ expect: "name", send: keys.ctrlC }]);
    expect(session).toMatchObject({ failed: null, code: 130 });
  });

  it("shows a URL before it is opened, and opens none without a yes", async () => {
    const session = await inTerminal(
      home,
      ["call", "shop:pay"],
      [
        { expect: "https://pay.example.com/now?order=17", send: "" },
        { expect: "Open the page of pay.example.com?", send: keys.n },
      ],
    );
    expect(session).toMatchObject({ failed: null, code: 1 });
    expect(session.text.indexOf("https://pay.example.com/now")).toBeLessThan(session.text.indexOf("Open the page of"));
  });

  it("asks for arguments that are missing", async () => {
    const session = await inTerminal(
      home,
      ["call", "shop:buy", "quantity=2"],
      [
        { expect: "sku", send: `A1${keys.enter}` },
        { expect: "gift", send: keys.n },
        { expect: "tags", send: keys.enter },
        { expect: "maxPrice", send: keys.enter },
      ],
    );
    expect(session).toMatchObject({ failed: null, code: 0 });
    expect(session.text).toContain('{"sku":"A1","gift":false,"quantity":2}');
  });

  it("asks nothing with --no-input", async () => {
    const { code, text } = await inTerminal(home, ["call", "shop:buy", "--no-input"], []);
    expect(code).toBe(2);
    expect(text).toContain("buy needs sku");
  });

  it("has colours, unless NO_COLOR says no", async () => {
    expect((await inTerminal(home, ["tools", "shop"], [])).raw).toContain("\u001b[36mbuy");
    const plain = { ...home, env: { ...home.env, NO_COLOR: "1" } };
    expect((await inTerminal(plain, ["tools", "shop"], [])).raw).not.toContain("\u001b[36m");
  });

  it("shows an image where it can, and saves it elsewhere", async () => {
    const kitty = { ...home, env: { ...home.env, TERM_PROGRAM: "WezTerm" } };
    expect((await inTerminal(kitty, ["call", "shop:logo"], [])).raw).toContain("\u001b]1337;File=inline=1:");
    expect((await inTerminal(home, ["call", "shop:logo"], [])).text).toMatch(
      /\[image\/png, \d+ bytes: .*image-1\.png\]/,
    );
  });

  it("has a shell with completion and history, in which Ctrl-C ends only what runs", async () => {
    const session = await inTerminal(
      home,
      ["shell", "shop"],
      [
        { expect: "shop> ", send: `bu${keys.tab}` },
        { expect: "buy ", send: `sku=Z9${keys.enter}` },
        { expect: '{"sku":"Z9"}', send: "" },
        { expect: "shop> ", send: `deliver${keys.enter}` },
        { expect: "packing", send: keys.ctrlC },
        { expect: "interrupted", send: "" },
        { expect: "shop> ", send: `restock${keys.enter}` },
        { expect: "8", send: "" },
        { expect: "shop> ", send: keys.ctrlD },
      ],
    );
    expect(session).toMatchObject({ failed: null, left: [], code: 0 });
    const history = readFileSync(`${home.folder}/user/.state/plugbay/shell-history`, "utf8");
    expect(history.split("\n").slice(0, 3)).toEqual(["restock", "deliver", "buy sku=Z9"]);
  });
});

describe.skipIf(find("tmux") === undefined)("the screens of docs/cli.md", () => {
  it("are what plugbay shows", { timeout: 180_000 }, async () => {
    const { code, stderr } = await run(script("scripts/cli-screens.mjs", "--check"));
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });
});
