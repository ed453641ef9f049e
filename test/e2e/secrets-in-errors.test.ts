import { createServer as createHttpServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import type { Command } from "../../src/connect/index.ts";
import { script } from "../fixtures/children/processes.ts";
import { connect, McpError, openHost } from "./support/built.ts";

// What a server or a program repeats of what it was given: none of it is in an error, a status or an event.

const secrets = {
  url: "postgresql://admin:correcthorse@db.example/shop",
  flag: "value-of-a-flag",
  assigned: "value-of-an-assignment",
  key: "sk-live-abcdefghijklmnop",
  plain: "a value of a plain variable",
  named: "value of a password",
  inherited: "value that was inherited",
};

const told = (mode: string): Command => ({
  ...script("telltale.mjs", mode, secrets.url, "--api-key", secrets.flag, `TOKEN=${secrets.assigned}`, secrets.key),
  env: { DATABASE_URL: secrets.url, SOMETHING: secrets.plain, DB_PASSWORD: secrets.named },
  inheritEnv: ["PLUGBAY_TEST_INHERITED"],
});

const leaksIn = (value: unknown): readonly string[] => {
  const text = JSON.stringify(value);
  return [...Object.values(secrets), "correcthorse"].filter((secret) => text.includes(secret));
};

async function errorOf(work: Promise<unknown>): Promise<InstanceType<typeof McpError>> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(McpError);
  return error as InstanceType<typeof McpError>;
}

const seen = ({ message, data, stack }: InstanceType<typeof McpError>): unknown => ({ message, data, stack });

describe("errors of a program", () => {
  process.env.PLUGBAY_TEST_INHERITED = secrets.inherited;

  it("have no secret of its arguments and variables when it dies (S12, B9)", async () => {
    const error = await errorOf(connect(told("dies")));
    expect(error.message).toContain("exited with code 1 before answering; stderr:");
    expect(error.data).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("cannot start with") });
    expect(leaksIn(seen(error))).toEqual([]);
  });

  it("have none when it cannot be started (S12)", async () => {
    const missing = await errorOf(connect({ ...told("dies"), command: "no-such-program-4711" }));
    expect(missing.message).toContain("no-such-program-4711");
    expect(leaksIn(seen(missing))).toEqual([]);
    const nowhere = await errorOf(connect({ ...told("dies"), cwd: `/none/${secrets.plain}` }));
    expect(leaksIn(seen(nowhere))).toEqual([]);
  });

  it("have none when it answers with what it was given (B9)", async () => {
    await using client = await connect(told("answers"));
    const error = await errorOf(client.listTools());
    expect(error.message).toMatch(/^no, because of/);
    expect(error.data).toMatchObject({ list: [expect.any(String)] });
    expect(leaksIn(seen(error))).toEqual([]);
  });

  it("have none in what a host tells of it (S12)", async () => {
    const missing = { ...told("dies"), command: "no-such-program-4711" };
    await using host = await openHost({ dies: told("dies"), answers: told("answers"), missing }, { connect: "lazy" });
    const events = host.events();
    const tools = await host.listTools();
    expect(tools.missing.map(({ server }) => server)).toEqual(["dies", "answers", "missing"]);
    expect(leaksIn([tools.missing, host.servers()])).toEqual([]);
    const down = new Set<string>();
    for await (const event of events) {
      expect(leaksIn(event)).toEqual([]);
      if (event.kind === "state" && event.status.state === "down") down.add(event.server);
      if (down.size === 2) break;
    }
  });
});

describe("errors of a server at a URL", () => {
  const token = "a-token-of-somebody-4711";
  const key = "a key in another header";
  const open = new Set<{ close(): void }>();
  afterEach(() => {
    for (const server of open) server.close();
    open.clear();
  });

  async function serve(answer: (told: string) => { status: number; headers?: object; body?: object }): Promise<string> {
    const server = createHttpServer(async (request: IncomingMessage, response) => {
      let text = "";
      for await (const chunk of request) text += String(chunk);
      const { id, method } = JSON.parse(text || "{}") as { id?: number; method?: string };
      const { status, headers, body } = answer(JSON.stringify({ headers: request.headers, url: request.url }));
      const isOpening = status === 200 && method === "server/discover";
      const result = {
        supportedVersions: ["2026-07-28"],
        capabilities: { tools: {} },
        serverInfo: { name: "s", version: "1" },
      };
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, ...(isOpening ? { result } : body) }));
    });
    open.add(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp?key=value-in-the-url`;
  }

  const headers = { authorization: `Bearer ${token}`, "x-shop-key": key };
  const leaks = (value: unknown): readonly string[] =>
    [token, key, "value-in-the-url"].filter((secret) => JSON.stringify(value).includes(secret));

  it.each([401, 403, 429, 500])("have no token when %i repeats it (B9)", async (status) => {
    const url = await serve((told) => ({
      status,
      headers: {
        "www-authenticate": `Bearer realm="shop", error="invalid_token", error_description="${encodeURI(told).replaceAll("%20", " ")} ${token}"`,
      },
      body: { error: { code: -32603, message: `bad: ${told}`, data: { told } } },
    }));
    const error = await errorOf(connect(url, { headers }));
    expect(leaks(seen(error))).toEqual([]);
    const byFunction = await errorOf(connect(url, { headers: () => headers }));
    expect(leaks(seen(byFunction))).toEqual([]);
    const auth = { headers: async () => headers, refused: async () => false };
    expect(leaks(seen(await errorOf(connect(url, { auth }))))).toEqual([]);
  });

  it("have no token when an error in a response repeats it (B9)", async () => {
    const url = await serve((told) => ({
      status: 200,
      body: { error: { code: -32603, message: `bad: ${told}`, data: { told: [told] } } },
    }));
    await using client = await connect(url, { headers });
    const error = await errorOf(client.listTools());
    expect(error.message).toMatch(/^bad: /);
    expect(leaks(seen(error))).toEqual([]);
  });
});
