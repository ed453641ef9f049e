import { type Browser, chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { find } from "../../scripts/system-programs.mjs";
import { loopbackRedirect, oauth } from "../../src/auth/node/client.ts";
import { connect } from "../../src/connect/connect.ts";
import { startProtected } from "./support/protected-server.ts";
import { startProvider } from "./support/provider.ts";

// A user in a real browser, who comes back to the server that waits on this machine.

const program = find("chromium");
/** A browser takes its time where others work beside it; how long does not matter here. */
const limitMs = 120_000;

describe.skipIf(program === undefined)("a user in Chromium", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: program ?? "", args: ["--no-sandbox"], timeout: limitMs });
  }, limitMs);
  afterAll(() => browser?.close(), limitMs);

  it(
    "signs in, agrees, and is told to go back",
    async () => {
      await using issuer = await startProvider();
      await using server = await startProtected(issuer);
      const page = await browser.newPage();
      const open = vi.fn(async (url: URL) => {
        await page.goto(url.href);
        await page.fill("input[name=login]", "ann");
        await page.fill("input[name=password]", "any");
        await page.click("button[type=submit]");
        await page.click("button[type=submit]");
        return true;
      });
      await using client = await connect(server.url, {
        auth: oauth({ redirect: loopbackRedirect({ openUrl: open }), signInTimeoutMs: limitMs }),
      });
      expect(await client.callTool("read")).toMatchObject({ content: [{ text: "read" }] });
      expect(open).toHaveBeenCalledOnce();
      expect(await page.textContent("p")).toBe("You can close this window and go back to the application.");
      expect(new URL(page.url()).hostname).toBe("127.0.0.1");
      await page.close();
    },
    limitMs,
  );
});
