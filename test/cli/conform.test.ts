import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { isRunning, until } from "../fixtures/children/processes.ts";
import { createHome, json, plugbay, shop } from "./support/cli.ts";
import { serveShop } from "./support/served-shop.ts";
import { installSuite } from "./support/suite.ts";

// `plugbay conform` as a real process, with a small suite. test/conformance runs it with the official one.

const home = createHome();
beforeAll(() => installSuite(home));

describe("conform", () => {
  it("tests a program, and ends with 0 when only what nobody requires fails", async () => {
    const { code, stdout } = await plugbay(home, ["conform", ...shop]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^passed +initialize +1 checks$/m);
    expect(stdout).toMatch(/^failed \(not required\) +extension +extension-check: does what it should$/m);
    expect(stdout).toContain("1 of 1 required scenarios hold: the server conforms");
  });

  it("tests a URL, and writes JSON", async () => {
    const served = await serveShop();
    const ended = await plugbay(home, ["conform", served.url, "--json"]);
    await served.close();
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(json(ended)).toMatchObject({
      suite: "1.2.3",
      conforms: true,
      scenarios: [
        { name: "initialize", status: "passed", required: true, checks: { passed: 1 } },
        { name: "extension", status: "failed", required: false },
      ],
    });
  });

  it("runs scenarios by their name, and ends with 1 when one fails", async () => {
    const args = ["conform", "--scenario", "odd", "--scenario", "broken", "--json", ...shop];
    const ended = await plugbay(home, args);
    expect(ended.code).toBe(1);
    expect(json(ended)).toMatchObject({
      conforms: false,
      scenarios: expect.arrayContaining([
        expect.objectContaining({ name: "broken", status: "failed" }),
        expect.objectContaining({ name: "odd", status: "skipped", problems: ["odd-check: does what it should"] }),
      ]),
    });
  });

  it("ends with 130 and ends the suite when it is interrupted", async () => {
    const file = join(home.folder, "suite.pid");
    const ended = await plugbay(home, ["conform", "--scenario", "hangs", "--json", ...shop], {
      onStart: (child) => void until(() => existsSync(file)).then(() => child.kill("SIGINT")),
    });
    expect(ended.code).toBe(130);
    expect(json(ended)).toMatchObject({ error: { code: "cancelled" } });
    const pid = Number(readFileSync(file, "utf8"));
    await until(() => !isRunning(pid));
  });

  it("says what the suite said when it has tested nothing", async () => {
    const { code, stderr } = await plugbay(home, ["conform", "--scenario", "none", ...shop]);
    expect(code).toBe(2);
    expect(stderr).toContain("Unknown scenario: none");
  });

  it("says how a suite that is missing is installed, before it starts the server", async () => {
    const { code, stdout, stderr } = await plugbay(createHome(), ["conform", "--", "no-such-program"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("npm i -D @modelcontextprotocol/conformance@");
    expect(stderr).toContain("--suite");
  });

  it("has npx run the version that it is given, and says what npx said of one that it cannot get", async () => {
    // npx takes what a project has, so that nothing is fetched.
    home.write("package.json", { name: "home", version: "1.0.0", private: true });
    const env = { npm_config_registry: "http://127.0.0.1:9", npm_config_fetch_retries: "0" };
    const installed = await plugbay(home, ["conform", "--suite", "1.2.3", ...shop], { env });
    expect(installed).toMatchObject({ code: 0, stdout: expect.stringContaining("the server conforms") });
    const other = await plugbay(home, ["conform", "--suite", "9.9.9", ...shop], { env });
    expect(other.code).toBe(2);
    expect(other.stderr).toContain("the conformance suite 9.9.9 has tested nothing");
    expect(other.stderr).toContain("ECONNREFUSED");
  });

  it.each([
    ["what is no version", ["--suite", "../x", ...shop]],
    ["a revision that there is not", ["--requires", "2020-01-01", ...shop]],
    ["headers, which the suite cannot send", ["http://127.0.0.1:9/mcp", "--header", "x-key: 1"]],
    ["no target", []],
  ])("ends with 2 for %s", async (_, args) => {
    expect(await plugbay(home, ["conform", ...args])).toMatchObject({ code: 2, stdout: "" });
  });
});
