import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { exitCodeOf, exitCodes } from "../../src/cli/frame/exit-codes.ts";
import type { ErrorCode } from "../../src/protocol/errors.ts";
import { root } from "../e2e/support/places.ts";
import { createHome, json, plugbay, shopFile } from "./support/cli.ts";

// The exit code of every error code, as the page about errors has it.

const page = readFileSync(join(root, "docs", "errors.md"), "utf8");

/** The rows of the table of error codes: the codes with what is said of them, and the exit code. */
const rows = [...page.matchAll(/^\| (`.*`.*) \| (\d+) \|$/gm)].map(([, codes = "", code]) => ({
  codes,
  code: Number(code),
}));
const documented = rows.flatMap(({ codes, code }) =>
  [...codes.matchAll(/`([a-z-]+)`( (?:of|while|whose) (?:[^,|`]|`insufficient_scope`)*)?/g)].map(
    ([, name = "", when = ""]) => ({
      name,
      when: when.trim(),
      code,
    }),
  ),
);

describe("the table of exit codes in docs/errors.md", () => {
  const plain = documented.filter(({ name, when }) => when === "" && name in exitCodes);

  it("has every error code once, with its exit code", () => {
    const all = Object.fromEntries(plain.map(({ name, code }) => [name, code]));
    expect(plain.length).toBe(Object.keys(all).length);
    expect({ ...all, timeout: 1 }).toEqual(exitCodes);
  });

  it("says the other exit codes of what depends on its data", () => {
    const special = (code: number): readonly string[] =>
      documented.filter((one) => one.when !== "" && one.code === code).map(({ name, when }) => `${name} ${when}`);
    expect(special(1)).toEqual(["timeout of a call"]);
    expect(special(3)).toEqual(["timeout while connecting"]);
    expect(special(4)).toEqual([
      "internal whose data has the scopes that are missing",
      "http-error whose data has the status 403 and `insufficient_scope`",
    ]);
    expect(special(5)).toEqual(["internal whose data names a policy"]);
    const of = (code: ErrorCode, data: Record<string, string | string[]>): number => exitCodeOf({ code, data });
    expect(of("timeout", { phase: "call" })).toBe(1);
    expect(of("timeout", { phase: "connect" })).toBe(3);
    expect(of("internal", { id: "3f2a" })).toBe(1);
    expect(of("internal", { scopes: ["read"] })).toBe(4);
    expect(of("internal", { by: "lock" })).toBe(5);
    expect(of("http-error", { challenge: 'Bearer error="insufficient_scope"' })).toBe(3);
  });
});

describe("call", () => {
  const home = createHome();

  it("of a tool that needs an approval which nobody gives ends with 5", async () => {
    const servers = JSON.stringify({ shop: { command: process.execPath, args: [shopFile] } });
    const file = home.write(
      "host.mjs",
      `import { openHost } from ${JSON.stringify(join(root, "dist", "node", "host.js"))};
export const host = await openHost(${servers}, { policy: [{ tools: "shop:buy", action: "approve" }] });
`,
    );
    const allowed = await plugbay(home, ["call", file, "shop__articles"]);
    expect(allowed).toMatchObject({ code: 0 });
    const ended = await plugbay(home, ["call", file, "shop__buy", "sku=A1", "--json"]);
    expect(ended.code).toBe(5);
    expect(json(ended)).toMatchObject({ error: { message: expect.stringContaining("needs approval") } });
  });

  it("of a tool whose scope the caller lacks ends with 4, and names the scope", async () => {
    const file = home.write(
      "scoped.mjs",
      `import { createServer, tool } from ${JSON.stringify(join(root, "dist", "node", "server.js"))};
const buy = tool({ scopes: ["shop:buy"], run: () => "bought" });
export const server = createServer({ name: "scoped", version: "1.0.0", tools: { buy } });
`,
    );
    const ended = await plugbay(home, ["call", file, "buy", "--json"]);
    expect(ended.code).toBe(4);
    expect(json(ended)).toMatchObject({ error: { data: { reason: "forbidden", scopes: ["shop:buy"] } } });
  });

  it("with a token that lacks a scope ends with 4, and names the scope", async () => {
    const site = createServer((_, response) => {
      const challenge = 'Bearer error="insufficient_scope", scope="shop:buy"';
      response.writeHead(403, { "www-authenticate": challenge }).end();
    });
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      site.close();
      site.closeAllConnections();
    });
    const url = `http://127.0.0.1:${(site.address() as AddressInfo).port}/mcp`;
    const ended = await plugbay(home, ["call", url, "buy", "--header", "authorization: Bearer x", "--json"]);
    expect(ended.code).toBe(4);
    const data = { status: 403, challenge: expect.stringContaining("shop:buy") };
    expect(json(ended)).toMatchObject({ error: { code: "http-error", data } });
  });
});
