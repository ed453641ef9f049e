import { readFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { root } from "../e2e/support/places.ts";
import { quietPort } from "../support/quiet-port.ts";
import { createHome, type Home, json, plugbay } from "./support/cli.ts";
import { serveShop } from "./support/served-shop.ts";

// Approving servers, and comparing them with what was approved.

const server = join(root, "test", "fixtures", "children", "pid-server.mjs");
let home: Home;
const configure = (...args: readonly string[]): string =>
  home.write("mcp.json", { mcpServers: { pid: { command: process.execPath, args: [server, ...args] } } });

beforeEach(() => {
  home = createHome();
  configure("a");
});

describe("lock, check, approve", () => {
  it("writes a lock, and finds everything as it was", async () => {
    const locked = await plugbay(home, ["lock"]);
    expect(locked).toMatchObject({ code: 0, stdout: expect.stringContaining("pid: 2 tools") });
    expect(JSON.parse(readFileSync(join(home.folder, "plugbay.lock"), "utf8"))).toMatchObject({ lockVersion: 2 });
    expect(await plugbay(home, ["check"])).toMatchObject({ code: 0, stdout: "everything is as it was approved\n" });
  });

  it("does not start what was not approved, and ends with 5", async () => {
    await plugbay(home, ["lock"]);
    configure("a", "changed");
    const ended = await plugbay(home, ["check", "--json"]);
    expect(ended.code).toBe(5);
    expect(json(ended)).toMatchObject({ isClean: false, refused: [{ server: "pid" }] });
    expect((await plugbay(home, ["check"])).stdout).toContain("not started");
  });

  it("approves what is new, when it is told to", async () => {
    await plugbay(home, ["lock"]);
    configure("a", "changed");
    const asked = await plugbay(home, ["approve", "pid"]);
    expect(asked).toMatchObject({ code: 2, stderr: expect.stringContaining("--yes") });
    expect((await plugbay(home, ["check"])).code).toBe(5);
    const approved = await plugbay(home, ["approve", "pid", "--yes"]);
    expect(approved).toMatchObject({ code: 0, stderr: expect.stringContaining("arguments") });
    expect((await plugbay(home, ["check"])).code).toBe(0);
    expect(await plugbay(home, ["approve", "pid"])).toMatchObject({ code: 0, stdout: "nothing to approve\n" });
  });

  it("says what is wrong with the names, the lock and the files", async () => {
    expect(await plugbay(home, ["check"])).toMatchObject({ code: 2, stderr: expect.stringContaining("plugbay lock") });
    expect(await plugbay(home, ["approve"])).toMatchObject({ code: 2 });
    expect(await plugbay(home, ["lock", "pdi"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("did you mean pid"),
    });
    home.write("plugbay.lock", "{");
    expect(await plugbay(home, ["check"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("plugbay.lock:1:"),
    });
    home.write("mcp.json", "{");
    expect(await plugbay(home, ["lock"])).toMatchObject({ code: 2, stderr: expect.stringContaining("mcp.json:1:") });
    home.write("mcp.json", { mcpServers: { gone: { command: "no-such-program" } } });
    expect(await plugbay(home, ["lock"])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("no-such-program"),
    });
  });
});

describe("check of an approved server", () => {
  const atPort = async (answer: RequestListener): Promise<void> => {
    const site = createServer(answer);
    await new Promise<void>((resolve) => site.listen(port, "127.0.0.1", resolve));
    onTestFinished(() => {
      site.close();
      site.closeAllConnections();
    });
  };
  let port = 0;
  /** Approves a server at a URL, and ends it. */
  const approveUrl = async (): Promise<void> => {
    port = await quietPort();
    const served = await serveShop(port);
    home.write("mcp.json", { mcpServers: { far: { url: served.url } } });
    expect(await plugbay(home, ["lock"])).toMatchObject({ code: 0 });
    await served.close();
  };

  it("that is gone ends with 3", async () => {
    await approveUrl();
    expect(await plugbay(home, ["check"])).toMatchObject({ code: 3, stderr: expect.stringContaining("refused") });
  });

  it("that needs a sign-in ends with 4", async () => {
    await approveUrl();
    await atPort((_, response) => response.writeHead(401, { "www-authenticate": "Bearer" }).end());
    expect(await plugbay(home, ["check"])).toMatchObject({ code: 4 });
  });

  it("that crashes ends with 3", async () => {
    home.write("switch.mjs", `await import(${JSON.stringify(server)});\n`);
    home.write("mcp.json", {
      mcpServers: { pid: { command: process.execPath, args: [join(home.folder, "switch.mjs")] } },
    });
    expect(await plugbay(home, ["lock"])).toMatchObject({ code: 0 });
    home.write("switch.mjs", 'console.error("out of ink");\nprocess.exit(7);\n');
    expect(await plugbay(home, ["check"])).toMatchObject({ code: 3, stderr: expect.stringContaining("out of ink") });
  });
});
