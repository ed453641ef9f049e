import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createHome, type Ended, type Home, json, plugbay, program, shop, shopFile } from "./support/cli.ts";
import { type ServedShop, serveShop } from "./support/served-shop.ts";

// Commands that compare, measure and record, as real processes.

let home: Home;
let served: ServedShop;
let other = "";
beforeAll(async () => {
  served = await serveShop();
  home = createHome();
  home.write("mcp.json", { mcpServers: { shop: { command: process.execPath, args: [shopFile] } } });
  const serverModule = JSON.stringify(import.meta.resolve("plugbay/server"));
  other = home.write(
    "other.mjs",
    `import { createServer, tool } from ${serverModule};
export const other = createServer({ name: "other", version: "1", tools: {
  buy: tool({ description: "Sells an article", run: (input) => JSON.stringify(input) }),
} });
`,
  );
});
afterAll(() => served.close());

const recording = async (...lines: readonly string[]): Promise<string> => {
  const path = join(home.folder, `${crypto.randomUUID()}.ndjson`);
  const ended = await plugbay(home, ["record", "-o", path, ...lines, ...shop]);
  expect(ended).toMatchObject({ code: 0 });
  return path;
};

describe("diff", () => {
  it("finds nothing between one server over stdio and HTTP", async () => {
    const ended = await plugbay(home, ["diff", "shop", served.url]);
    expect(ended).toEqual({ code: 0, stdout: "no differences\n", stderr: "" });
  });

  it("says what is different of two servers, and ends with 1", async () => {
    const { code, stdout } = await plugbay(home, ["diff", "shop", other]);
    expect(code).toBe(1);
    expect(stdout).toContain("- Buys an article");
    expect(stdout).toContain("+ Sells an article");
    expect(stdout).toContain("tool articles is gone");
    const ended = await plugbay(home, ["diff", "shop", other, "--json"]);
    expect(ended.code).toBe(1);
    expect(json(ended)).toMatchObject({ isSame: false, changes: [{ kind: "changed" }] });
  });

  it("writes a snapshot and compares with it", async () => {
    expect((await plugbay(home, ["diff", "shop.snapshot", "shop", "--update"])).code).toBe(0);
    expect((await plugbay(home, ["diff", "shop.snapshot", ...shop])).code).toBe(0);
    expect((await plugbay(home, ["diff", "shop.snapshot", other])).code).toBe(1);
  });

  it("compares with one server of a lock file", async () => {
    expect((await plugbay(home, ["lock", "--config", "mcp.json"])).code).toBe(0);
    expect((await plugbay(home, ["diff", "plugbay.lock", "shop"])).code).toBe(0);
    const { code, stderr } = await plugbay(home, ["diff", "plugbay.lock", "shop", "--server", "shap"]);
    expect(code).toBe(2);
    expect(stderr).toContain("did you mean shop");
  });

  it("needs two sides", async () => {
    const { code, stderr } = await plugbay(home, ["diff", "shop"]);
    expect(code).toBe(2);
    expect(stderr).toContain("<before> <after>");
  });
});

describe("bench", () => {
  it("counts calls and says how long they took", async () => {
    const ended = await plugbay(home, ["bench", "shop:buy", "sku=A1", "--count", "40", "-n", "4", "--json"]);
    expect(ended.code).toBe(0);
    const result = json(ended) as { latencyMs: Record<string, number> };
    expect(result).toMatchObject({ tool: "buy", concurrency: 4, calls: 40, failed: 0 });
    const { min = 0, p50 = 0, p99 = 0, max = 0 } = result.latencyMs;
    expect([min, p50, p99, max]).toEqual([min, p50, p99, max].toSorted((a, b) => a - b));
  });

  it("ends after a time", async () => {
    const { code, stdout } = await plugbay(home, ["bench", "articles", "--duration", "200ms", ...shop]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^throughput +\d/m);
  });

  it("ends with 1 when calls fail, and says how", async () => {
    const { code, stdout } = await plugbay(home, ["bench", "shop:refuse", "--count", "3"]);
    expect(code).toBe(1);
    expect(stdout).toContain("3 x tool-error; the first: sold out");
  });

  it("ends when the server is gone", async () => {
    const ended = await plugbay(home, ["bench", "shop:crash", "--json"]);
    expect(ended.code).toBe(1);
    expect(json(ended)).toMatchObject({ failures: { "connection-closed": expect.any(Number) } });
  });

  it.each([
    [["--concurrency", "0"], "1 to 1000"],
    [["--count", "1.5"], "--count"],
    [["--duration", "11m"], "10m"],
  ])("refuses %j", async (args, said) => {
    const { code, stderr } = await plugbay(home, ["bench", "shop:buy", "sku=A", ...args]);
    expect(code).toBe(2);
    expect(stderr).toContain(said);
  });
});

interface Entry {
  readonly at: number;
  readonly from: string;
  readonly message: { readonly method?: string };
}

function entriesOf(path: string): readonly Entry[] {
  const [, ...lines] = readFileSync(path, "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as Entry);
}

describe("record", () => {
  it("writes every message of both sides, readable by the owner only", async () => {
    const path = await recording("call buy sku=A1", "read stock://all");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const entries = entriesOf(path);
    const asked = entries.flatMap(({ from, message }) => (from === "client" ? (message.method ?? []) : []));
    expect(asked).toEqual(expect.arrayContaining(["server/discover", "tools/list", "tools/call", "resources/read"]));
    expect(entries.filter(({ from }) => from === "server").length).toBeGreaterThanOrEqual(asked.length);
  });

  it.each(["2025-11-25", "2026-07-28"])("records a URL in %s", async (revision) => {
    const path = join(home.folder, `url-${revision}.ndjson`);
    const args = ["record", served.url, "-o", path, "call buy sku=A1", "--revision", revision];
    expect((await plugbay(home, args)).code).toBe(0);
    const entries = entriesOf(path);
    const call = entries.findIndex(({ message }) => message.method === "tools/call");
    expect(entries[call]).toMatchObject({ from: "client", message: { params: { arguments: { sku: "A1" } } } });
    expect(entries.slice(call)).toContainEqual(
      expect.objectContaining({
        from: "server",
        message: expect.objectContaining({ result: expect.objectContaining({ content: expect.any(Array) }) }),
      }),
    );
  });

  it("hides credentials, unless it is told not to", async () => {
    const path = join(home.folder, "secret.ndjson");
    const line = `call buy '{"sku": "ghp_abcdefghijklmnop123", "tags": ["hunter2hunter2"]}'`;
    const args = ["record", "-o", path, "--env", "SHOP_PASSWORD=hunter2hunter2", line];
    expect((await plugbay(home, [...args, ...shop])).code).toBe(0);
    expect(readFileSync(path, "utf8")).not.toMatch(/ghp_abc|hunter2/);
    expect((await plugbay(home, [...args, "--raw", ...shop])).code).toBe(0);
    expect(readFileSync(path, "utf8")).toContain("ghp_abcdefghijklmnop123");
  });

  it("reads lines from stdin, and ends with the code of the first that failed", async () => {
    const input = "call refuse\nping\n";
    expect((await plugbay(home, ["record", "shop", "-o", "lines.ndjson"], { input })).code).toBe(1);
  });

  it("needs a file that can be written", async () => {
    expect(await plugbay(home, ["record", "shop"])).toMatchObject({ code: 2 });
    const { code, stderr } = await plugbay(home, ["record", "shop", "-o", "none/there.ndjson"]);
    expect(code).toBe(2);
    expect(stderr).toContain("none/there.ndjson");
  });
});

describe("replay", () => {
  const replayed = (path: string): readonly string[] => ["--", process.execPath, program, "replay", path];

  it.each(["2025-11-25", "2026-07-28"])("answers as the recorded server did in %s", async (revision) => {
    const path = join(home.folder, `served-${revision}.ndjson`);
    const lines = ["call buy sku=A1", "call restock", "call restock", "call talk"];
    const recorded = await plugbay(home, ["record", "-o", path, ...lines, "--revision", revision, ...shop]);
    expect(recorded.code).toBe(0);
    expect(await plugbay(home, ["call", "buy", "sku=A1", ...replayed(path)])).toMatchObject({
      code: 0,
      stdout: '{"sku":"A1"}\n',
    });
    expect((await plugbay(home, ["call", "talk", ...replayed(path)])).stderr).toContain("looking");
    const missing = await plugbay(home, ["call", "buy", "sku=B2", ...replayed(path)]);
    expect(missing.stderr).toContain("no answer to tools/call");
  });

  it("gives several answers in their order, and the last one again", async () => {
    const path = await recording("call restock", "call restock");
    const again = join(home.folder, "again.ndjson");
    const lines = ["call restock", "call restock", "call restock"];
    const { stdout } = await plugbay(home, ["record", "-o", again, ...lines, ...replayed(path)]);
    expect(stdout).toBe("8\n9\n9\n");
  });

  it("repeats the requests against the same server without a difference", async () => {
    const path = await recording("call buy sku=A1", "read stock://all");
    const ended = await plugbay(home, ["replay", path, "--json", ...shop]);
    expect(ended.code).toBe(0);
    expect(json(ended)).toMatchObject({ isSame: true, different: [] });
    expect((await plugbay(home, ["replay", path, "--against", served.url])).code).toBe(0);
  });

  it("shows where another server answers otherwise, and ends with 1", async () => {
    const path = await recording("call buy sku=A1", "call articles");
    const { code, stdout } = await plugbay(home, ["replay", path, "--against", other]);
    expect(code).toBe(1);
    expect(stdout).toContain("tools/call articles");
    expect(stdout).toContain("/result/tools");
  });

  it.each([
    ["no file", [], "needs a recording"],
    ["a file that is not there", ["none.ndjson"], "none.ndjson"],
    ["what is no recording", ["mcp.json"], "mcp.json:1"],
    ["two servers", ["x", "--against", "shop", "--", "y"], "two servers"],
  ])("refuses %s", async (_, args, said) => {
    const { code, stderr } = await plugbay(home, ["replay", ...args]);
    expect(code).toBe(2);
    expect(stderr).toContain(said);
  });
});

describe("tee", () => {
  const teed = (path: string, ...command: readonly string[]): readonly string[] => [
    ...["--", process.execPath, program, "tee", path, "--"],
    ...command,
  ];

  it("passes bytes as they are, and writes what passed", async () => {
    const path = join(home.folder, "tee.ndjson");
    const echo = home.write("echo.mjs", "process.stdin.pipe(process.stdout);");
    const input = `{"b":1, "a":  "ü"}\r\nno message\n{"password":"x"}\nlast line without an end`;
    const ended = await plugbay(home, ["tee", path, "--", process.execPath, echo], { input });
    expect(ended).toEqual({ code: 0, stdout: input, stderr: "" });
    const written = entriesOf(path).filter(({ from }) => from === "client");
    expect(written).toMatchObject([
      { message: { b: 1 } },
      { text: "no message" },
      { message: { password: "[REDACTED]" } },
      { text: "last line without an end" },
    ]);
  });

  it("stands between a host and a server", async () => {
    const path = join(home.folder, "between.ndjson");
    const ended = await plugbay(home, ["call", "buy", "sku=A1", ...teed(path, process.execPath, shopFile)]);
    expect(ended).toMatchObject({ code: 0, stdout: '{"sku":"A1"}\n' });
    expect(entriesOf(path).some(({ message }) => message.method === "tools/call")).toBe(true);
    expect((await plugbay(home, ["replay", path, ...shop])).code).toBe(0);
  });

  it("gives the server its whole environment, and ends with 1 where it failed", async () => {
    const line = 'process.stdout.write(process.env.SOME_VARIABLE ?? ""); process.exit(3)';
    const run = (): Promise<Ended> =>
      plugbay(home, ["tee", "env.ndjson", "--", process.execPath, "-e", line], { env: { SOME_VARIABLE: "seen" } });
    expect(await run()).toMatchObject({ code: 1, stdout: "seen" });
  });

  it("ends the server with a signal", async () => {
    const pid = join(home.folder, "pid");
    const line = `require("fs").writeFileSync(${JSON.stringify(pid)}, String(process.pid)); setInterval(() => {}, 1000); console.log("up")`;
    let isTold = false;
    let kill = (): void => {};
    const { code } = await plugbay(home, ["tee", "signal.ndjson", "--", process.execPath, "-e", line], {
      onStart: (child) => {
        kill = () => child.kill("SIGTERM");
      },
      onOutput: ({ stdout }) => {
        if (isTold || !stdout.includes("up")) return;
        isTold = true;
        kill();
      },
    });
    expect(code).toBe(0);
    expect(() => process.kill(Number(readFileSync(pid, "utf8")), 0)).toThrow("ESRCH");
  });

  it.each([
    [["tee", "x.ndjson"], 2, "a file and a command"],
    [["tee", "none/x.ndjson", "--", "true"], 2, "cannot be written"],
    [["tee", "x.ndjson", "--", "no-such-program"], 3, "no-such-program"],
  ])("%j fails", async (args, expected, said) => {
    const { code, stderr } = await plugbay(home, args);
    expect(code).toBe(expected);
    expect(stderr).toContain(said);
  });
});
