import { once } from "node:events";
import { createServer, request } from "node:http";
import { describe, expect, it, vi } from "vitest";
import { eventually } from "../../../test/support/patience.ts";
import { quietPort } from "../../../test/support/quiet-port.ts";
import { loopbackRedirect, openBrowser } from "./loopback.ts";

/** Sends a request as a browser would, or as somebody else. */
async function get(url: string, options: { method?: string; host?: string } = {}) {
  const outgoing = request(url, {
    method: options.method ?? "GET",
    ...(options.host !== undefined && { headers: { host: options.host } }),
  });
  outgoing.end();
  const [response] = await once(outgoing, "response");
  const chunks: Buffer[] = await response.toArray();
  return { status: response.statusCode, headers: response.headers, text: Buffer.concat(chunks).toString() };
}

const isOpen = (uri: string): Promise<boolean> =>
  get(uri).then(
    () => true,
    () => false,
  );

/** Where nobody is before and after. */
const quietUri = async (): Promise<string> => `http://127.0.0.1:${await quietPort()}/callback`;

const authorization = new URL("https://as.example/authorize?state=s1");

describe("users who come back to this machine", () => {
  it("are received at one path, with the right state, once (V10)", async () => {
    const open = vi.fn(async () => true);
    const opened = await loopbackRedirect({ openUrl: open }).open(await quietUri());
    const { signal } = new AbortController();
    const coming = opened.visit(authorization, signal);
    expect(open).toHaveBeenCalledWith(authorization);
    expect((await get(`${new URL(opened.uri).origin}/other?state=s1`)).status).toBe(404);
    expect((await get(`${opened.uri}/?state=s1&code=c`)).status).toBe(404);
    expect((await get(`${opened.uri}?state=s2&code=evil`)).status).toBe(400);
    expect((await get(`${opened.uri}?state=s1&state=s1&code=evil`)).status).toBe(400);
    expect((await get(`${opened.uri}?code=evil`)).status).toBe(400);
    expect((await get(`${opened.uri}?state=s1&code=evil`, { method: "POST" })).status).toBe(405);
    expect((await get(`${opened.uri}?state=s1&code=evil`, { host: "evil.example" })).status).toBe(404);
    const { status, headers, text } = await get(`${opened.uri}?state=s1&code=c&x=%3Cscript%3E`);
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      "content-security-policy": expect.stringMatching(/^default-src 'none'/),
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
    });
    expect(text).not.toContain("script");
    expect(await coming).toBe(`${opened.uri}?state=s1&code=c&x=%3Cscript%3E`);
    expect((await get(`${opened.uri}?state=s1&code=again`)).status).toBe(400);
    await opened[Symbol.asyncDispose]();
    expect(await isOpen(opened.uri)).toBe(false);
  });

  it("are not waited for any more when they take too long", async () => {
    const opened = await loopbackRedirect({ openUrl: async () => true }).open(await quietUri());
    const ending = new AbortController();
    const coming = opened.visit(authorization, ending.signal);
    ending.abort(new Error("too late"));
    await expect(coming).rejects.toThrow("too late");
    await opened[Symbol.asyncDispose]();
    expect(await isOpen(opened.uri)).toBe(false);
  });

  it("come back to where the client was registered, if that is free", async () => {
    const redirect = loopbackRedirect({ openUrl: async () => true });
    const first = await redirect.open(await quietUri());
    const second = await redirect.open(first.uri);
    expect(second.uri).not.toBe(first.uri);
    await first[Symbol.asyncDispose]();
    const third = await redirect.open(first.uri);
    expect(third.uri).toBe(first.uri);
    await second[Symbol.asyncDispose]();
    await third[Symbol.asyncDispose]();
    await using fourth = await redirect.open("https://elsewhere.example/callback");
    expect(fourth.uri).toMatch(/^http:\/\/127\.0\.0\.1:/);
  });

  it("come back to one of the ports that were given, or not at all", async () => {
    const taken = createServer();
    const port = await quietPort();
    await new Promise<void>((resolve) => taken.listen(port, "127.0.0.1", resolve));
    const redirect = loopbackRedirect({ ports: [port], path: "/a" });
    await expect(redirect.open(undefined)).rejects.toMatchObject({ code: "connection-closed" });
    await new Promise((resolve) => taken.close(resolve));
    await using opened = await redirect.open(undefined);
    expect(opened.uri).toBe(`http://127.0.0.1:${port}/a`);
  });

  it("see the URL when no browser can be opened", async () => {
    const show = vi.fn();
    const open = async (): Promise<boolean> => {
      throw new Error("no browser");
    };
    await using opened = await loopbackRedirect({ openUrl: open, showUrl: show }).open(undefined);
    expect(opened.uri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    const ending = new AbortController();
    const coming = opened.visit(authorization, ending.signal);
    await eventually(() => expect(show).toHaveBeenCalledWith(authorization));
    ending.abort(new Error("over"));
    await expect(coming).rejects.toThrow("over");
  });

  it.each(["callback", "/a?b", "/a b", "//evil.example\\"])("do not come back to the path %j", (path) => {
    expect(() => loopbackRedirect({ path })).toThrow(expect.objectContaining({ code: "invalid-params" }));
  });
});

describe("the browser", () => {
  it.each([
    ["linux", "xdg-open", []],
    ["freebsd", "xdg-open", []],
    ["darwin", "open", []],
    ["win32", "rundll32", ["url.dll,FileProtocolHandler"]],
  ] as const)("on %s is started with the URL as one argument", async (platform, command, args) => {
    const start = vi.fn(async () => true);
    const url = new URL('https://a.example/$(calc)?x=`id`&y="; rm -rf /');
    expect(await openBrowser(url, { platform, start })).toBe(true);
    expect(start).toHaveBeenCalledExactlyOnceWith(command, [...args, url.href]);
  });

  it.each(["file:///etc/passwd", "javascript:alert(1)", "data:text/html,x", "ms-msdt:x"])(
    "is not given %s (V9)",
    async (url) => {
      const start = vi.fn(async () => true);
      expect(await openBrowser(new URL(url), { start })).toBe(false);
      expect(start).not.toHaveBeenCalled();
    },
  );

  it("may not be there", async () => {
    const { PATH } = process.env;
    process.env.PATH = "";
    try {
      expect(await openBrowser(new URL("https://a.example"), { platform: "linux" })).toBe(false);
    } finally {
      process.env.PATH = PATH;
    }
  });
});
