import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { build } from "esbuild";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { find } from "../../scripts/system-programs.mjs";
import { anyOf, apiKey, everythingHere, serveHttp } from "./support/built.ts";
import { root } from "./support/places.ts";

// A page in a real browser, with the client in it, against a server at another origin.

const program = find("chromium");

/** What the page can do. The bundle puts it there. */
interface InPage {
  connect(url: string, revision?: string, headers?: Record<string, string>): Promise<{ revision: string }>;
  call(name: string, args?: object): Promise<{ value: unknown; progress: number[] }>;
  watch(): Promise<string>;
  close(): Promise<void>;
}

const source = `
  import { connect } from "plugbay/client";
  let client;
  globalThis.mcp = {
    async connect(url, revision, headers) {
      client = await connect(url, { revision, headers, onElicit: () => ({ answer: "from the page" }) });
      return { revision: client.revision };
    },
    async call(name, args = {}) {
      const progress = [];
      const value = await client.tools[name](args, { onProgress: (step) => progress.push(step.progress) });
      return { value, progress };
    },
    async watch() {
      const changes = client.changes({ tools: true });
      await changes.ready;
      void client.tools.bump({});
      for await (const change of changes) return change.kind;
    },
    close: () => client.close(),
  };
`;

describe.skipIf(program === undefined)("a page in Chromium", () => {
  let browser: Browser;
  let page: Page;
  let serving: Awaited<ReturnType<typeof serveHttp>>;
  let origin: string;
  const pages = createHttpServer();

  beforeAll(async () => {
    const { outputFiles } = await build({
      stdin: { contents: source, resolveDir: root },
      bundle: true,
      tsconfigRaw: {}, // Bundlers of users do not read the one of this repository.
      write: false,
      format: "esm",
      platform: "browser",
    });
    const script = outputFiles[0]?.text ?? "";
    pages.on("request", ({ url }, response) => {
      const isScript = url === "/client.js";
      response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
      response.end(isScript ? script : '<!doctype html><script type="module" src="/client.js"></script>');
    });
    await new Promise<void>((resolve) => pages.listen(0, "127.0.0.1", resolve));
    origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
    serving = await serveHttp(await everythingHere(), { port: 0, allowedOrigins: [origin] });
    browser = await chromium.launch({ executablePath: program ?? "", args: ["--no-sandbox"], timeout: 90_000 });
    page = await browser.newPage();
    await page.goto(origin);
    await page.waitForFunction(() => "mcp" in globalThis);
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await serving?.close();
    pages.close();
    pages.closeAllConnections();
  });

  const inPage = <K extends keyof InPage>(name: K, ...args: Parameters<InPage[K]>) =>
    page.evaluate(
      ({ name, args }) => {
        const { mcp } = globalThis as unknown as { mcp: Record<string, (...args: unknown[]) => unknown> };
        return mcp[name]?.(...args);
      },
      { name, args } as { name: string; args: unknown[] },
    ) as ReturnType<InPage[K]>;

  it.each(["2025-11-25", "2026-07-28"])(
    "calls a tool, hears progress, is asked and watches, in %s",
    async (revision) => {
      expect(await inPage("connect", serving.url, revision)).toEqual({ revision });
      expect(await inPage("call", "echo", { message: "hello" })).toEqual({ value: "hello", progress: [] });
      expect((await inPage("call", "test_tool_with_progress")).progress).toEqual([0, 50, 100]);
      expect((await inPage("call", "ask", { topic: "lunch" })).value).toBe("You said: from the page");
      expect(await inPage("watch")).toBe("tools");
      await inPage("close");
    },
  );

  it.each(["2025-11-25", "2026-07-28"])(
    "C97: sends the key that apiKey asks for, in a header of its own, in %s (T9)",
    async (revision) => {
      const auth = anyOf(
        apiKey({ header: "X-Acme-Key", verify: (key) => (key === "secret" ? { principal: "page" } : undefined) }),
        apiKey({ verify: () => undefined }),
      );
      await using guarded = await serveHttp(await everythingHere(), { port: 0, allowedOrigins: [origin], auth });
      expect(await inPage("connect", guarded.url, revision, { "x-acme-key": "secret" })).toEqual({ revision });
      expect(await inPage("call", "echo", { message: "hello" })).toMatchObject({ value: "hello" });
      await inPage("close");
    },
  );

  it("finds out the newest revision by itself", async () => {
    expect(await inPage("connect", serving.url)).toEqual({ revision: "2026-07-28" });
    await inPage("close");
  });

  it("is refused when its origin is not listed", async () => {
    await using other = await serveHttp(await everythingHere(), { port: 0 });
    await expect(inPage("connect", other.url)).rejects.toThrow();
  });
});
