import { spawn } from "node:child_process";
import { once } from "node:events";
import { type Browser, chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { find } from "../../scripts/system-programs.mjs";
import { root, script } from "../e2e/support/places.ts";
import { textOf } from "../e2e/support/run.ts";
import { quietPort } from "../support/quiet-port.ts";
import { startProvider } from "./support/provider.ts";

// Two examples as they are, with an authorization server between them and a user who does as told.

const program = find("chromium");
/** A browser takes its time where others work beside it; how long does not matter here. */
const limitMs = 120_000;

/** Starts an example in an environment that has nothing else in it: no program that opens a browser, either. */
function start(name: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { command, args: all } = script(`examples/${name}`, ...args);
  const child = spawn(command, all, { cwd: root, stdio: "pipe", env: { PATH: "", ...env } });
  const ended = once(child, "close");
  const [stdout, stderr] = [textOf(child.stdout), textOf(child.stderr)];

  /** The first group of what it says sooner or later. */
  const says = async (pattern: RegExp): Promise<string> => {
    for (;;) {
      const [, found] = pattern.exec(stdout() + stderr()) ?? [];
      if (found !== undefined) return found;
      if (child.exitCode !== null) throw new Error(`${name} has ended: ${stderr()}`);
      await Promise.race([once(child.stdout, "data"), once(child.stderr, "data"), ended]);
    }
  };
  return {
    stdout,
    says,
    ended,
    async [Symbol.asyncDispose]() {
      child.kill();
      await ended;
    },
  };
}

describe.skipIf(program === undefined)("a user in Chromium", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: program ?? "", args: ["--no-sandbox"], timeout: limitMs });
  }, limitMs);
  afterAll(() => browser?.close(), limitMs);

  /** Opens what the program says, signs in and agrees, until the program needs no more. */
  const signIn = async (url: string): Promise<string | null> => {
    const page = await browser.newPage();
    await page.goto(url);
    await page.fill("input[name=login]", "ann");
    await page.fill("input[name=password]", "any");
    await page.click("button[type=submit]");
    await page.click("button[type=submit]");
    const text = await page.textContent("p");
    await page.close();
    return text;
  };

  it.each([
    { tool: "whoami", signIns: 1, said: "ann, who may vault:see" },
    // It takes a scope that nobody asked for at first, so that the user is asked again.
    { tool: "open", signIns: 2, said: "It is open." },
  ])(
    "signs in to the protected server for $tool",
    async ({ tool, signIns, said }) => {
      await using issuer = await startProvider({ format: "jwt", scopes: ["vault:see", "vault:open"] });
      // Tokens name the server by its URL, so that it is known before it listens.
      const PORT = String(await quietPort());
      const AUDIENCE = `http://127.0.0.1:${PORT}/mcp`;
      await using server = start("protected-server.mjs", [], { ISSUER: issuer.issuer, AUDIENCE, PORT });
      expect(await server.says(/listening on (\S+)/)).toBe(AUDIENCE);

      await using client = start("sign-in.mjs", [AUDIENCE, tool]);
      for (let count = 1; count <= signIns; count++) {
        const url = await client.says(new RegExp(`(?:To sign in, open (\\S+)\\s+[^]*?){${count}}`));
        expect(await signIn(url)).toBe("You can close this window and go back to the application.");
      }
      expect(await client.ended).toEqual([0, null]);
      const attempt = [`authorizing at ${issuer.issuer}`, `authorized at ${issuer.issuer}`];
      const [first, ...more] = Array.from({ length: signIns }, () => attempt);
      expect(client.stdout().trim().split("\n")).toEqual([
        ...(first ?? []),
        "signed in to vault",
        ...more.flat(),
        said,
      ]);
      expect(issuer.grants).toEqual(Array.from({ length: signIns }, () => "authorization_code"));
    },
    limitMs,
  );
});
