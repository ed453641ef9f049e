import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { connect } from "../e2e/support/built.ts";
import { textOf } from "../e2e/support/run.ts";
import { createHome, json, plugbay, program, shopFile } from "./support/cli.ts";
import { type RunningGateway, startGateway } from "./support/gateway.ts";

// `plugbay gateway` as a real process.

const shop = { mcpServers: { shop: { command: process.execPath, args: [shopFile] } } };

const statusOf = async ({ statusUrl = "" }: RunningGateway) => (await fetch(statusUrl)).json();

describe("plugbay gateway", () => {
  it("serves the servers of a file of the folder, and ends at Ctrl-C", async () => {
    const home = createHome();
    home.write("mcp.json", shop);
    const gateway = await startGateway(home);
    await using client = await connect(gateway.url);
    expect((await client.listTools()).map(({ name }) => name)).toContain("shop__buy");
    expect(await statusOf(gateway)).toMatchObject({ isDegraded: false, servers: [{ name: "shop", state: "ready" }] });
    await client.close();
    expect(await gateway.stop()).toBe(0);
  });

  it("reads a file again when it has changed", async () => {
    const home = createHome();
    const path = home.write("mcp.json", shop);
    const gateway = await startGateway(home, path);
    await using client = await connect(gateway.url);
    await client.listTools();
    const changes = client.changes({ tools: true })[Symbol.asyncIterator]();
    const change = changes.next();
    writeFileSync(path, JSON.stringify({ mcpServers: { ...shop.mcpServers, other: shop.mcpServers.shop } }));
    await change;
    await expect
      .poll(async () => (await client.listTools()).map(({ name }) => name), { timeout: 30_000 })
      .toContain("other__buy");
    await gateway.stop();
  });

  it("says which server is broken, serves the others, and counts as degraded", async () => {
    const home = createHome();
    home.write("mcp.json", { mcpServers: { ...shop.mcpServers, gone: { command: "no-such-program-here" } } });
    const gateway = await startGateway(home, "--log", "json");
    await using client = await connect(gateway.url);
    expect((await client.listTools()).map(({ name }) => name)).toContain("shop__buy");
    expect(await statusOf(gateway)).toMatchObject({
      isDegraded: true,
      servers: [{ name: "shop" }, { name: "gone", state: "down", hint: expect.stringContaining("installed") }],
    });
    const metrics = await (await fetch(new URL("/metrics", gateway.url))).text();
    expect(metrics).toContain('mcp_gateway_server_up{server="gone"} 0');
    const lines = gateway.said().trim().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ kind: "server", event: "state", server: "gone" }),
    );
    await gateway.stop();
  });

  it("serves on stdio until its input ends", async () => {
    const home = createHome();
    home.write("mcp.json", shop);
    const target = {
      command: process.execPath,
      args: [program, "gateway", "--stdio"],
      cwd: home.folder,
      env: home.env,
    };
    await using client = await connect(target);
    expect((await client.listTools()).map(({ name }) => name)).toContain("shop__buy");
  });

  it("writes on stdio what happens to stderr where it is told to", async () => {
    const home = createHome();
    home.write("mcp.json", shop);
    const child = spawn(process.execPath, [program, "gateway", "--stdio", "--log", "json"], {
      cwd: home.folder,
      env: home.env,
    });
    const ended = once(child, "exit");
    const said = textOf(child.stderr);
    while (!said().includes('"state":"ready"')) await once(child.stderr, "data");
    const [first = ""] = said().split("\n");
    expect(JSON.parse(first)).toMatchObject({ kind: "server", server: "shop" });
    child.stdin.end();
    expect(await ended).toEqual([0, null]);
  });

  it("takes authentication, routes and a store from a module, and serves the status at a port of its own", async () => {
    const home = createHome();
    home.write("mcp.json", shop);
    const auth = JSON.stringify(new URL("../../dist/node/auth-server.js", import.meta.url).href);
    home.write(
      "gateway.mjs",
      `import { bearer } from ${auth};
       export default () => ({
         auth: bearer((token) => (token === "of-ann" ? { principal: "ann" } : undefined)),
         store: "memory:",
         serve: { routes: { "/hello": () => new Response("hello") } },
       });`,
    );
    const gateway = await startGateway(home, "--options", "gateway.mjs", "--admin-port", "0");
    expect(
      (await fetch(gateway.url, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" }))
        .status,
    ).toBe(401);
    expect((await fetch(new URL("/status", gateway.url))).status).toBe(404);
    expect(await (await fetch(new URL("/hello", gateway.url))).text()).toBe("hello");
    expect(await statusOf(gateway)).toMatchObject({ servers: [{ name: "shop" }] });
    await using client = await connect(gateway.url, { headers: { authorization: "Bearer of-ann" } });
    expect((await client.listTools()).map(({ name }) => name)).toContain("shop__buy");
    await gateway.stop("SIGTERM");
  });

  it("lists calls that wait for an approval, takes the answer, and explains the rules", async () => {
    const home = createHome();
    home.write("mcp.json", shop);
    home.write("options.json", { gateway: { rules: [{ action: "approve", tools: "shop:buy" }] } });
    const gateway = await startGateway(home, "--options", "options.json", "--log", "off");
    const at = (path: string) => new URL(path, gateway.url);
    const post = async (path: string, body: object, type = "application/json") => {
      const headers = { "content-type": type };
      const response = await fetch(at(path), { method: "POST", headers, body: JSON.stringify(body) });
      return { status: response.status, body: await response.json() };
    };
    expect(await post("/explain", { server: "shop", name: "buy" })).toMatchObject({
      status: 200,
      body: { action: "approve", isListed: true },
    });
    await using client = await connect(gateway.url, { revision: "2025-11-25" });
    const call = client.callTool("shop__buy", { sku: "a1" });
    const waiting = async () => (await (await fetch(at("/approvals"))).json()).approvals;
    await expect.poll(async () => (await waiting()).length, { timeout: 30_000 }).toBe(1);
    const [{ id, name }] = await waiting();
    expect(name).toBe("buy");
    const answer = { id, approved: true, by: "boss" };
    expect(await post("/approvals", answer, "text/plain")).toMatchObject({ status: 400 });
    expect(await post("/approvals", { ...answer, by: "" })).toMatchObject({ status: 400 });
    expect(await post("/approvals", answer)).toEqual({ status: 200, body: { id, approved: true } });
    expect((await call).isError).not.toBe(true);
    expect(await waiting()).toEqual([]);
    expect(await post("/approvals", answer)).toMatchObject({
      status: 400,
      body: { error: { code: "invalid-params" } },
    });
    await gateway.stop("SIGTERM");
  });

  it.each<[what: string, args: string[], stderr: RegExp]>([
    ["a file that is not there", ["nothing.json"], /there is no file .*nothing\.json/],
    ["an address that others reach, without authentication", ["--host", "0.0.0.0"], /everybody who reaches/],
    ["an issuer without an audience", ["--issuer", "https://login.example.com"], /--audience belong together/],
    ["workers without a store", ["--workers", "2"], /--workers needs a store that processes share/],
    ["workers on stdio", ["--workers", "2", "--stdio", "--store", "redis://127.0.0.1"], /serves one client/],
    ["a store that is none", ["--store", "mysql://127.0.0.1"], /the store cannot be opened: the address of a store is/],
    ["an option that is not there", ["--fast"], /--fast/],
  ])("refuses %s", async (_, args, stderr) => {
    const { code, stdout, stderr: said } = await plugbay(createHome(), ["gateway", ...args]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(said).toMatch(stderr);
  });

  it.each<[what: string, content: string, stderr: RegExp]>([
    ["a file of options that is not JSON", "{", /options\.json: /],
    ["an option in it that is not known", '{ "gateways": {} }', /"gateways"; did you mean "gateway"/],
    ["an option of the gateway that is not known", '{ "gateway": { "rule": [] } }', /unknown option "rule"/],
  ])("refuses %s", async (_, content, stderr) => {
    const home = createHome();
    home.write("options.json", content);
    const { code, stderr: said } = await plugbay(home, ["gateway", "--options", "options.json"]);
    expect(code).toBe(2);
    expect(said).toMatch(stderr);
  });

  it("says that its port is taken where one was asked for", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as { port: number };
    const ended = await plugbay(createHome(), ["gateway", "--json", "--port", String(port)]);
    other.close();
    expect(ended.code).toBe(3);
    expect(json(ended)).toMatchObject({
      error: { code: "connection-closed", message: expect.stringContaining(String(port)) },
    });
  });

  it("without a word is what plugbay does", async () => {
    const home = createHome();
    const child = spawn(process.execPath, [program], { cwd: home.folder, env: home.env });
    const said = textOf(child.stdout);
    while (!said().includes("plugbay --help shows all commands")) await once(child.stdout, "data");
    expect(said()).toContain("servers of the demo");
    const ended = once(child, "exit");
    child.kill("SIGINT");
    expect(await ended).toEqual([0, null]);
  });
});
