import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../e2e/support/places.ts";
import { until } from "../fixtures/children/processes.ts";
import { createHome, type Home, json, plugbay, shop, shopFile } from "./support/cli.ts";
import { type ServedShop, serveShop } from "./support/served-shop.ts";

// Commands that use a server, as real processes without a terminal.

let home: Home;
let served: ServedShop;
beforeAll(async () => {
  served = await serveShop();
  home = createHome();
  home.write("mcp.json", { mcpServers: { shop: { command: process.execPath, args: [shopFile] } } });
});

afterAll(() => served.close());

describe("tools", () => {
  it("lists tools with their arguments", async () => {
    const { code, stdout, stderr } = await plugbay(home, ["tools", ...shop]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^buy\(sku, quantity\?=1, gift\?, tags\?, maxPrice\?\) +Buys an article$/m);
    expect(stderr).toBe("");
  });

  it("shows one tool, by the name of a configured server", async () => {
    const { code, stdout } = await plugbay(home, ["tools", "shop:buy"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ {2}sku +string +Which article$/m);
  });

  it("writes JSON as the protocol has it", async () => {
    const ended = await plugbay(home, ["tools", "shop", "--json"]);
    expect(json(ended)).toMatchObject({
      tools: expect.arrayContaining([expect.objectContaining({ name: "articles" })]),
    });
  });

  it("says which tool was meant", async () => {
    const { code, stderr } = await plugbay(home, ["tools", "shop", "by"]);
    expect(code).toBe(2);
    expect(stderr).toContain("did you mean buy");
  });
});

describe("targets", () => {
  it("can be a file that exports a server", async () => {
    const { code, stdout } = await plugbay(home, ["call", shopFile, "buy", "sku=A1"]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '{"sku":"A1"}\n' });
  });

  it("can be a file that serves on stdio by itself", async () => {
    const file = home.write(
      "serving.mjs",
      `import { serveStdio } from ${JSON.stringify(`${import.meta.resolve("plugbay/stdio")}`)};
import { shop } from ${JSON.stringify(shopFile)};
await serveStdio(shop);
`,
    );
    const { code, stdout } = await plugbay(home, ["call", file, "buy", "sku=A1"]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '{"sku":"A1"}\n' });
  });

  it("that are files without a server say so", async () => {
    const file = home.write("nothing.mjs", "export const nothing = 1;");
    const { code, stderr } = await plugbay(home, ["tools", file], { env: { PWD: home.folder } });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `error: ${file} exports no server, and does not serve on stdio; export one: export const server = createServer({ … }) (invalid-definition)\n`,
    });
  });

  it("can be a command line as one word", async () => {
    const { code } = await plugbay(home, ["ping", `"${process.execPath}" "${shopFile}"`]);
    expect(code).toBe(0);
  });

  it("are looked for in the files of editors", async () => {
    const other = createHome();
    other.write(".vscode/mcp.json", {
      servers: { code: { type: "stdio", command: process.execPath, args: [shopFile] } },
    });
    other.write(
      "user/.codex/config.toml",
      `[mcp_servers.codex]\ncommand = ${JSON.stringify(process.execPath)}\nargs = [${JSON.stringify(shopFile)}]\n`,
    );
    for (const name of ["code", "codex"]) {
      const { code, stderr } = await plugbay(other, ["call", `${name}:articles`]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    }
  });

  it("of a project do not take the name of one of the user", async () => {
    const other = createHome();
    other.write("mcp.json", { mcpServers: { shop: { command: "false" } } });
    other.write("user/.cursor/mcp.json", { mcpServers: { shop: { command: process.execPath, args: [shopFile] } } });
    const { code, stderr } = await plugbay(other, ["tools", "shop"]);
    expect(code).toBe(2);
    expect(stderr).toContain("--config");
    expect((await plugbay(other, ["tools", "shop", "--config", "user/.cursor/mcp.json"])).code).toBe(0);
  });

  it("without a scheme are told how to be written", async () => {
    const { code, stderr } = await plugbay(home, ["tools", "localhost:3000/mcp"]);
    expect(code).toBe(2);
    expect(stderr).toContain("http://localhost:3000/mcp");
  });
});

describe("call", () => {
  const bought = async (...args: readonly string[]): Promise<unknown> => {
    const ended = await plugbay(home, ["call", "shop", "buy", ...args]);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    return json(ended);
  };

  it("reads words by the schema", async () => {
    expect(await bought("sku=17", "quantity=2", "gift=true", "tags=a", "tags=b", "maxPrice=2.5")).toEqual({
      sku: "17",
      quantity: 2,
      gift: true,
      tags: ["a", "b"],
      maxPrice: 2.5,
    });
  });

  it("takes JSON, in a word or as the whole", async () => {
    expect(await bought("sku=x", 'tags:=["a"]')).toEqual({ sku: "x", tags: ["a"] });
    expect(await bought('{"sku": "x", "quantity": 3}')).toEqual({ sku: "x", quantity: 3 });
  });

  it("makes options of the schema", async () => {
    const args = ["--sku", "x", "--gift", "--tags", "a", "--tags", "b", "--max-price", "3"];
    expect(await bought(...args)).toEqual({ sku: "x", gift: true, tags: ["a", "b"], maxPrice: 3 });
  });

  it("reads arguments from a file and from stdin, which words change", async () => {
    const file = home.write("args.json", { sku: "f", quantity: 4 });
    expect(await bought("--args", file, "quantity=5")).toEqual({ sku: "f", quantity: 5 });
    const ended = await plugbay(home, ["call", "shop:buy", "--args", "-"], { input: '{"sku":"s"}' });
    expect(json(ended)).toEqual({ sku: "s" });
  });

  it.each([
    ["nothing that is needed", [], "needs sku"],
    ["a value of another type", ["sku=x", "quantity=many"], "the tool wants integer"],
    ["an argument that there is not", ["sku=x", "quantty=2"], "did you mean quantity"],
    ["an option that there is not", ["--skuu", "x"], "did you mean --sku"],
    ["what is no JSON", ["sku=x", "tags:=[a"], "JSON"],
    ["a word that is no argument", ["sku"], "key=value"],
    ["a file that is not there", ["--args", "none.json"], "none.json"],
  ])("refuses %s", async (_, args, said) => {
    const { code, stdout, stderr } = await plugbay(home, ["call", "shop", "buy", ...args]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(said);
  });

  it("ends with 1 when the tool says isError, in text and JSON", async () => {
    expect(await plugbay(home, ["call", "shop:refuse"])).toMatchObject({ code: 1, stdout: "sold out\n" });
    const ended = await plugbay(home, ["call", "shop:refuse", "--json"]);
    expect(ended.code).toBe(1);
    expect(json(ended)).toMatchObject({ isError: true });
  });

  it("shows structured content as a table", async () => {
    const { stdout } = await plugbay(home, ["call", "shop:articles"]);
    expect(stdout).toBe("SKU  PRICE\nA1   5\nB2   12.5\n");
  });

  it("saves data", async () => {
    const { code, stdout } = await plugbay(home, ["call", "shop:logo", "--save", "pictures"]);
    expect(code).toBe(0);
    const path = join(home.folder, "pictures", "image-1.png");
    expect(stdout).toContain(path);
    expect(readFileSync(path).subarray(1, 4).toString()).toBe("PNG");
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("writes logs to stderr, without what a terminal would obey", async () => {
    const { stdout, stderr } = await plugbay(home, ["call", "shop:talk"]);
    expect(stdout).toBe("looked\n");
    expect(stderr).toBe("info: looking \\u{1b}[31mred\\u{1b}[0m\n");
  });

  it("answers nothing without a terminal, and says so", async () => {
    const { code, stderr } = await plugbay(home, ["call", "shop:order"]);
    expect(code).toBe(1);
    expect(stderr).toContain("run this on a terminal");
  });

  it.each(["2025-11-25", "2026-07-28"])(
    "is cancelled by a signal in %s, ends with 130, and tells the server",
    async (revision) => {
      const log = home.write(`cancelled-${revision}.log`, "");
      const says = (word: string) => () => readFileSync(log, "utf8").includes(word);
      const args = ["call", "deliver", "--json", "--env", `SHOP_LOG=${log}`, "--revision", revision, ...shop];
      const ended = await plugbay(home, args, {
        onStart: (child) => void until(says("delivering")).then(() => child.kill("SIGINT")),
      });
      expect(ended.code).toBe(130);
      expect(json(ended)).toMatchObject({ error: { code: "cancelled" } });
      await until(says("cancelled"));
    },
  );
});

describe("resources, read", () => {
  it("lists resources and templates", async () => {
    const { code, stdout } = await plugbay(home, ["resources", "shop"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^stock:\/\/all +stock +text\/plain/m);
    expect(stdout).toMatch(/^stock:\/\/\{sku\} +article/m);
  });

  it("reads text", async () => {
    expect(await plugbay(home, ["read", "shop", "stock://A1"])).toMatchObject({ code: 0, stdout: "stock of A1\n" });
    expect(json(await plugbay(home, ["read", "stock://all", "--json", ...shop]))).toMatchObject({
      contents: [{ text: "7 left" }],
    });
  });

  it("writes data into a pipe as it is", async () => {
    const { code, stdout } = await plugbay(home, ["read", "shop", "img://logo"]);
    expect(code).toBe(0);
    expect(stdout.slice(1, 4)).toBe("PNG");
  });

  it("ends with 1 for a resource that there is not, and with 2 without a URI", async () => {
    const missing = await plugbay(home, ["read", "shop", "none://x"]);
    expect(missing).toMatchObject({ code: 1, stdout: "" });
    expect(missing.stderr).toContain("plugbay resources shop");
    expect(await plugbay(home, ["read", "shop"])).toMatchObject({ code: 2, stdout: "" });
  });
});

describe("prompts, prompt, complete", () => {
  it("lists prompts", async () => {
    expect(await plugbay(home, ["prompts", "shop"])).toMatchObject({ code: 0, stdout: "upsell(sku)  Suggests more\n" });
  });

  it("gets one", async () => {
    const { code, stdout } = await plugbay(home, ["prompt", "shop", "upsell", "sku=A1"]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "user: Suggest an add-on for A1\n" });
  });

  it.each([
    ["no name", [], "needs a name"],
    ["a name that there is not", ["upsel"], "did you mean upsell"],
    ["a missing argument", ["upsell"], "needs sku"],
    ["an argument that there is not", ["upsell", "skuu=1"], "did you mean sku"],
  ])("refuses %s", async (_, args, said) => {
    const { code, stderr } = await plugbay(home, ["prompt", "shop", ...args]);
    expect(code).toBe(2);
    expect(stderr).toContain(said);
  });

  it("completes an argument", async () => {
    expect(await plugbay(home, ["complete", "shop", "upsell", "sku=A"])).toMatchObject({ code: 0, stdout: "A1\nA2\n" });
    expect(await plugbay(home, ["complete", "shop", "upsell"])).toMatchObject({ code: 2 });
  });
});

describe("ping, watch, tasks", () => {
  it("pings", async () => {
    const ended = await plugbay(home, ["ping", "shop", "-n", "2", "--json"]);
    expect(json(ended)).toMatchObject({
      server: { name: "shop", version: "1.2.3" },
      pingMs: [expect.any(Number), expect.any(Number)],
    });
  });

  it("pings as often as it is told, and refuses other numbers", async () => {
    const { pingMs } = json(await plugbay(home, ["ping", "shop", "-n", "3", "--json"])) as {
      pingMs: readonly number[];
    };
    expect(pingMs).toHaveLength(3);
    for (const count of ["0", "1.5"])
      expect(await plugbay(home, ["ping", "shop", "-n", count])).toMatchObject({ code: 2 });
  });

  it("watches a resource until it has changed so often", async () => {
    let isChanged = false;
    const { code, stdout } = await plugbay(home, ["watch", served.url, "stock://all", "--count", "1", "--read"], {
      onOutput({ stderr }) {
        if (isChanged || !stderr.includes("watching")) return;
        isChanged = true;
        served.change();
      },
    });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\d\d:\d\d:\d\d stock:\/\/all changed: 7 left$/m);
  });

  it("starts a task, shows it, waits for it and cancels another", async () => {
    const { stdout: id } = await plugbay(home, ["call", served.url, "job", "--task"]);
    const task = id.trim();
    expect(json(await plugbay(home, ["tasks", served.url, task, "--json"]))).toMatchObject({ taskId: task });
    expect(await plugbay(home, ["tasks", served.url, task, "--wait"])).toMatchObject({ code: 0, stdout: "job done\n" });
    const { stdout: other } = await plugbay(home, ["call", served.url, "endless", "--task"]);
    const cancelled = await plugbay(home, ["tasks", served.url, other.trim(), "--cancel", "--json"]);
    expect(json(cancelled)).toMatchObject({ status: "cancelled" });
    expect(await plugbay(home, ["tasks", served.url, "no-such-task"])).toMatchObject({ code: 1 });
    const { code, stderr: error } = await plugbay(home, ["tasks", served.url, "-begins-with-a-hyphen"]);
    expect({ code, error }).toEqual({ code: 1, error: expect.stringContaining("task") });
    expect(await plugbay(home, ["tasks", served.url, "--wait"])).toMatchObject({ code: 2 });
  });

  it("ends with 0 when a signal ends watching", async () => {
    const child: { kill?: () => void } = {};
    const { code } = await plugbay(home, ["watch", "shop"], {
      onStart: (started) => {
        child.kill = () => started.kill("SIGINT");
      },
      onOutput: ({ stderr }) => stderr.includes("watching") && child.kill?.(),
    });
    expect(code).toBe(0);
  });

  it("says that a server cannot list tasks", async () => {
    const ended = await plugbay(home, ["tasks", "shop", "--json"]);
    expect(ended.code).toBe(1);
    expect(json(ended)).toMatchObject({ error: { code: "unsupported" } });
  });
});

describe("shell", () => {
  it("lists skills, too", async () => {
    const skilled = ["--", process.execPath, join(root, "test", "fixtures", "children", "skills-server.mjs")];
    const { code, stdout } = await plugbay(home, ["shell", ...skilled], { input: "skills\n" });
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("refunds") });
  });

  it("runs lines over one connection", async () => {
    const input = "restock\nrestock\n# a comment\nread stock://all\ncall buy sku='a b'\nexit\nnot run\n";
    const { code, stdout, stderr } = await plugbay(home, ["shell", "shop"], { input });
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '8\n9\n9 left\n{"sku":"a b"}\n', stderr: "" });
  });

  it("ends with the first line that fails", async () => {
    const { code, stdout } = await plugbay(home, ["shell", "shop"], { input: "restock\nrefuse\nrestock\n" });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "8\nsold out\n" });
  });

  it("ends with 3 when the server is gone", async () => {
    const { code, stderr } = await plugbay(home, ["shell", "shop"], { input: "crash\nrestock\n" });
    expect(code).toBe(3);
    expect(stderr).toContain("out of paper");
  });
});
