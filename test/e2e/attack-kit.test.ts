import { beforeAll, describe, expect, it } from "vitest";
import { type AttackReport, attack } from "./support/attack-kit.ts";
import { script } from "./support/places.ts";
import { run } from "./support/run.ts";
import { serve } from "./support/serving.ts";

describe("the attack kit at a server that leaves checks to its user", () => {
  let report: AttackReport;
  beforeAll(async () => {
    const fixture = await serve(script("test/fixtures/official-v2-server.mjs", "--port", "0"));
    const names = ["--header", "x-user: ann", "--second-header", "x-user: bob"];
    const only = "foreign-host,foreign-origin,foreign-session,foreign-answer,simple-post,two-lengths";
    report = await attack(`${fixture.url}/sessions`, ...names, "--use", "ask=greet", "--only", only);
  });

  const verdictOn = (name: string) => report.results.find(({ id }) => id === name)?.verdict;

  it.each(["foreign-host", "foreign-origin", "foreign-session", "foreign-answer"])("sees %s get through", (name) => {
    expect(verdictOn(name)).toBe("got through");
  });

  it.each(["simple-post", "two-lengths"])("sees that %s is refused", (name) => {
    expect(verdictOn(name)).toBe("held");
  });

  it("ends with code 1", () => {
    expect(report.code).toBe(1);
  });
});

describe("the command line of the attack kit", () => {
  const kit = (...args: readonly string[]) => run(script("scripts/attack.mjs", ...args));

  it("lists every attack with its group and its rows of docs/security.md", async () => {
    const { code, stdout } = await kit("--list");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^foreign-host +web +V1 +sends Host headers/m);
    expect(stdout.trim().split("\n").length).toBeGreaterThan(60);
  });

  it("attacks no other machine unless it is told to", async () => {
    const { code, stderr } = await kit("https://mcp.example.com/mcp");
    expect(code).toBe(2);
    expect(stderr).toContain("--remote");
  });

  it.each([
    [["--unknown"], "unknown option --unknown"],
    [["--only", "nothing", "http://127.0.0.1:9/mcp"], "no attack, group or id is called nothing"],
    [["--use", "poet=x", "http://127.0.0.1:9/mcp"], "roles are echo, large"],
    [["--header", "x", "http://127.0.0.1:9/mcp"], "must be like 'Name: value'"],
    [["--only", "web", "http://127.0.0.1:9/mcp"], "nothing at http://127.0.0.1:9/mcp speaks MCP"],
    [[], "name a URL or a command"],
  ])("refuses %j", async (args, text) => {
    const { code, stderr } = await kit(...args);
    expect(code).toBe(2);
    expect(stderr).toContain(text);
  });
});
