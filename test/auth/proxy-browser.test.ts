import { createServer as createHttpServer } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type Browser, chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { find } from "../../scripts/system-programs.mjs";
import { loopbackRedirect, oauth } from "../../src/auth/node/client.ts";
import { github, oauthProxy } from "../../src/auth/node/proxy.ts";
import { connect } from "../../src/connect/connect.ts";
import { createServer, tool } from "../../src/server/index.ts";
import { toNodeHandler } from "../../src/transport/node/node-handler.ts";
import { quietPort } from "../support/quiet-port.ts";
import { createCertificate } from "../support/redis-certificate.ts";
import { githubClient, startGithubLike } from "./support/github.ts";
import { close, listen } from "./support/provider.ts";
import { proxyKey, startProxied } from "./support/proxied-server.ts";
import { createRawClient } from "./support/raw-client.ts";

// A user in a real browser, who agrees on our page, signs in with the provider, and comes back.

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
    "agrees, signs in, and is back at the program that waits",
    async () => {
      await using provider = await startGithubLike();
      await using server = await startProxied(github({ ...githubClient, baseUrl: provider.url }), {});
      const page = await browser.newPage();
      const seen: (string | null)[] = [];
      const openUrl = async (url: URL): Promise<boolean> => {
        await page.goto(url.href);
        seen.push(await page.textContent("main"));
        await page.click("button.main");
        await page.click("button");
        return true;
      };
      const auth = oauth({
        clientName: "Test client",
        redirect: loopbackRedirect({ openUrl }),
        signInTimeoutMs: limitMs,
      });
      await using client = await connect(server.url, { auth });
      expect(await client.callTool("write")).toMatchObject({ content: [{ text: "written" }] });
      for (const text of [
        "Test client",
        new URL(server.url).host,
        "a program on this computer",
        "orders:write",
        "read:user",
        "GitHub",
      ]) {
        expect(seen[0]).toContain(text);
      }
      expect(await page.textContent("p")).toBe("You can close this window and go back to the application.");
      await page.close();
    },
    limitMs,
  );

  it(
    "is known by a cookie of this host, by https: asked once, and never in the browser of somebody else (Q2)",
    async () => {
      await using provider = await startGithubLike();
      const { cert, key } = createCertificate();
      const [port, plainPort] = [await quietPort(), await quietPort()];
      const origin = `https://127.0.0.1:${port}`;
      const auth = oauthProxy({
        provider: github({ ...githubClient, baseUrl: provider.url }),
        resource: `${origin}/mcp`,
        keys: [proxyKey()],
      });
      const service = createServer({ name: "shop", version: "1", tools: { hello: tool({ run: () => "hello" }) } });
      const handler = toNodeHandler(service, { path: "/mcp", auth });
      const secure = createHttpsServer({ cert, key }, handler).listen(port, "127.0.0.1");
      // For what is no browser, and does not know the certificate.
      const plain = createHttpServer(handler).listen(plainPort, "127.0.0.1");
      // A place of its own, as only a client with a host has one: what waits on a port of this machine is asked each time.
      const application = createHttpsServer({ cert, key }, (_, response) => response.end("back"));
      const redirectUri = `${(await listen(application)).replace("http:", "https:")}/callback`;
      const context = await browser.newContext({ ignoreHTTPSErrors: true });
      const stranger = await browser.newContext({ ignoreHTTPSErrors: true });
      try {
        const client = await createRawClient(`http://127.0.0.1:${plainPort}`, { redirectUri });
        const url = client.authorizeUrl({ resource: `${origin}/mcp` });
        const start = `${origin}${url.pathname}${url.search}`;
        const page = await context.newPage();
        await page.goto(start);
        const [cookie] = await context.cookies(origin);
        expect(cookie).toMatchObject({ name: "__Host-plugbay-browser", secure: true, httpOnly: true, sameSite: "Lax" });
        await page.click("button.main");
        const atProvider = page.url();
        expect(atProvider).toMatch(`${provider.url}/login/oauth/authorize`);
        await page.click("button");
        await page.waitForURL(/\/callback\?code=/);
        expect(await page.textContent("body")).toBe("back");

        // The same again needs neither page, unless a page of somebody else asks for it.
        await page.goto(start);
        expect(page.url()).toMatch(`${redirectUri}?code=`);
        await page.setContent(`<a href="${start.replaceAll("&", "&amp;")}">go</a>`);
        await page.click("a");
        await page.waitForURL(/\/authorize/);
        expect(await page.textContent("h1")).toContain("Raw client");

        const other = await stranger.newPage();
        await other.goto(atProvider);
        await other.click("button");
        await other.waitForURL(/127\.0\.0\.1:\d+\/callback\?/);
        expect(new URL(other.url()).origin).toBe(origin);
        expect(await other.textContent("h1")).toBe("Signing in ends here");
      } finally {
        await Promise.all([context.close(), stranger.close()]);
        await handler.close();
        await Promise.all([secure, plain, application].map(close));
      }
    },
    limitMs,
  );

  it.each(["light", "dark"] as const)(
    "sees a page in %s colours that can be read, on a phone, too (Q10)",
    async (colorScheme) => {
      await using provider = await startGithubLike();
      await using server = await startProxied(github({ ...githubClient, baseUrl: provider.url }), {});
      const client = await createRawClient(server.origin, { metadata: { client_name: `App ${"x".repeat(90)}` } });
      const page = await browser.newPage({ colorScheme, viewport: { width: 320, height: 640 } });
      await page.goto(client.authorizeUrl().href);
      const { contrast, overflow } = await page.evaluate<{ contrast: number; overflow: number }>(measure);
      expect(contrast).toBeGreaterThan(4.5);
      expect(overflow).toBe(0);
      await page.close();
    },
    limitMs,
  );
});

/** Runs in the page: how well its texts stand out from what is behind them (WCAG), and how much wider it is than the window. */
const measure = `(() => {
  const main = document.querySelector("main");
  const luminance = (color) => {
    const [r, g, b] = color.match(/\\d+/g).map((part) => {
      const value = Number(part) / 255;
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (front, back) => {
    const [low, high] = [luminance(front), luminance(back)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const back = getComputedStyle(main).backgroundColor;
  const texts = [...main.querySelectorAll("h1, dt, dd, code")].map((element) => ratio(getComputedStyle(element).color, back));
  const button = getComputedStyle(main.querySelector("button.main"));
  return {
    contrast: Math.min(...texts, ratio(button.color, button.backgroundColor)),
    overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  };
})()`;
