import { describe, expect, it } from "vitest";
import { type DialectName, dialects } from "../../src/config/dialects.ts";
import { parseConfig } from "../../src/config/parse-config.ts";
import { formatConfigProblem } from "../../src/config/problem.ts";
import type { ServerEntry } from "../../src/config/server-entry.ts";
import { resolveText, sampleOf, samples, textOf } from "./samples.ts";

type Expected = Readonly<
  Record<string, Omit<ServerEntry, "name" | "origin" | "enabled"> & { readonly enabled?: boolean }>
>;

/** What every sample says, in one shape. */
const expected: { readonly [D in DialectName]: Expected } = {
  generic: {
    shop: {
      target: {
        command: "node",
        args: ["shop.js", "--api-key", "planted-shop-secret", "--root=/home/shop"],
        inheritEnv: ["LANG"],
      },
      connectTimeoutMs: 5_000,
      callTimeoutMs: 60_000,
      tools: { allow: ["buy", "list_*"], deny: ["list_all"] },
    },
    far: { target: { url: "https://example.com/mcp?key=planted-query-secret" } },
  },
  "claude-code": {
    database: { target: { command: "dbhub", args: ["--dsn", "planted-DATABASE_URL"], env: { LOG: "info" } } },
    sentry: {
      target: {
        url: "https://mcp.sentry.dev/mcp",
        type: "http",
        headers: { Authorization: "Bearer planted-SENTRY_TOKEN" },
      },
      callTimeoutMs: 120_000,
    },
    asana: {
      target: { url: "https://mcp.asana.com/sse", type: "sse" },
      oauth: {
        clientId: "asana-client",
        callbackPort: 8765,
        scopes: ["default", "tasks:read"],
        metadataUrl: "https://app.asana.com/.well-known/oauth-authorization-server",
      },
    },
  },
  "claude-desktop": {
    filesystem: {
      target: { command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "/Users/ada/Documents"] },
    },
    notion: {
      target: {
        command: "npx",
        args: ["mcp-remote", "https://mcp.notion.com/mcp", "--header", `Authorization:${"$"}{AUTH_HEADER}`],
        env: { AUTH_HEADER: "Bearer planted-notion-secret" },
      },
    },
  },
  cline: {
    weather: {
      target: { command: "node", args: ["/srv/weather/server.js"], env: { API_KEY: "planted-weather-secret" } },
      callTimeoutMs: 60_000,
      trust: ["forecast"],
    },
    remote: {
      target: {
        url: "https://example.com/mcp",
        type: "http",
        headers: { Authorization: "Bearer planted-cline-secret" },
      },
    },
  },
  codex: {
    context7: {
      target: {
        command: "npx",
        args: ["-y", "@upstash/context7-mcp"],
        env: { LOG_LEVEL: "debug" },
        inheritEnv: ["CONTEXT7_API_KEY", "HTTPS_PROXY"],
      },
      connectTimeoutMs: 20_500,
    },
    figma: {
      target: {
        url: "https://mcp.figma.com/mcp",
        headers: {
          authorization: "Bearer planted-FIGMA_TOKEN",
          "X-Region": "us-east-1",
          "X-Team": "planted-FIGMA_TEAM",
        },
      },
      callTimeoutMs: 45_000,
      tools: { allow: ["get_file", "get_image"], deny: ["get_image"] },
      oauth: { scopes: ["files:read"], resource: "https://mcp.figma.com" },
    },
    old: { target: { command: "old-server", args: [] }, enabled: false },
  },
  copilot: {
    playwright: {
      target: { command: "npx", args: ["@playwright/mcp@latest"], env: { TOKEN: "planted-PLAYWRIGHT_TOKEN" } },
      tools: { allow: ["*"] },
    },
    context7: {
      target: {
        url: "https://mcp.context7.com/mcp",
        type: "http",
        headers: { CONTEXT7_API_KEY: "planted-context7-secret" },
      },
      tools: { allow: ["query-docs"] },
    },
  },
  cursor: {
    linear: {
      target: { url: "https://mcp.linear.app/mcp", headers: { Authorization: "Bearer planted-LINEAR_KEY" } },
    },
    files: {
      target: {
        command: "python",
        args: ["/home/shop/tools/server.py", "--home", "/home/ada"],
        env: { FROM_FILE: "planted-file" },
      },
      envFile: "/home/shop/secrets.env",
    },
    crm: {
      target: { url: "https://crm.example.com/mcp" },
      oauth: { clientId: "cursor-client", clientSecret: "planted-CRM_SECRET", scopes: ["read", "write"] },
    },
  },
  gemini: {
    python: {
      target: {
        command: "python",
        args: ["-m", "my_server", "--data", "planted-DATA_DIR/files"],
        env: { API_KEY: "planted-MY_API_KEY", OTHER: "planted-OTHER_KEY" },
        cwd: "/home/shop/servers/python",
      },
      callTimeoutMs: 15_000,
      trust: "all",
      tools: { allow: ["read", "list_*"], deny: ["list_secrets"] },
    },
    remote: {
      target: { url: "https://example.com/mcp", type: "http", headers: { "X-Key": "planted-MY_API_KEY" } },
      oauth: { clientId: "gemini", scopes: ["a", "b"] },
    },
    old: { target: { url: "https://example.com/sse" } },
    experimental: { target: { command: "experimental-server", args: [] }, enabled: false },
  },
  goose: {
    fetch: {
      target: {
        command: "uvx",
        args: ["mcp-server-fetch", "--max-pages", "20"],
        env: { USER_AGENT: "goose", FETCH_API_KEY: "planted-FETCH_API_KEY" },
      },
      description: "Reads pages",
      callTimeoutMs: 300_000,
    },
    tracker: {
      target: {
        url: "https://tracker.example.com/mcp",
        type: "http",
        headers: { Authorization: "Bearer planted-tracker-secret" },
      },
    },
  },
  inspector: {
    "default-server": { target: { command: "node", args: ["build/index.js"], env: { DEBUG: "1" } } },
    remote: { target: { url: "http://localhost:3000/mcp", type: "http" } },
  },
  jetbrains: {
    database: {
      target: { command: "java", args: ["-jar", "tools/db-server.jar"], env: { DB_PASSWORD: "planted-DB_PASSWORD" } },
    },
    docs: { target: { url: "http://localhost:64342/sse" } },
  },
  kiro: {
    "aws-docs": {
      target: {
        command: "uvx",
        args: ["awslabs.aws-documentation-mcp-server@latest"],
        env: { FASTMCP_LOG_LEVEL: "ERROR", AWS_TOKEN: "planted-AWS_TOKEN" },
      },
      trust: "all",
      tools: { deny: ["search_internal"] },
    },
    api: {
      target: { url: "https://api.example.com/mcp", headers: { Authorization: "Bearer planted-API_TOKEN" } },
      callTimeoutMs: 30_000,
    },
  },
  librechat: {
    everything: { target: { url: "http://localhost:3001/sse" } },
    sheets: {
      target: {
        url: "https://sheets.example.com/mcp",
        type: "http",
        headers: { "X-API-Key": "planted-SHEETS_KEY", "X-User": "planted-user" },
      },
      connectTimeoutMs: 10_000,
      callTimeoutMs: 60_000,
      oauth: {
        clientId: "librechat",
        clientSecret: "planted-SHEETS_SECRET",
        scopes: ["read", "write"],
        authorizationUrl: "https://sheets.example.com/authorize",
        tokenUrl: "https://sheets.example.com/token",
      },
    },
    puppeteer: { target: { command: "npx", args: ["-y", "@modelcontextprotocol/server-puppeteer"] } },
  },
  "mcp-cli": {
    github: {
      target: {
        command: "npx",
        args: ["-y", "@modelcontextprotocol/server-github"],
        env: { GITHUB_TOKEN: "planted-GITHUB_TOKEN" },
      },
      tools: { allow: ["get_*", "list_*"], deny: ["*delete*"] },
    },
    deepwiki: { target: { url: "https://mcp.deepwiki.com/mcp" } },
  },
  opencode: {
    everything: {
      target: {
        command: "npx",
        args: ["-y", "@modelcontextprotocol/server-everything"],
        env: { TOKEN: "planted-EVERYTHING_TOKEN" },
      },
      connectTimeoutMs: 5_000,
    },
    jira: {
      target: { url: "https://jira.example.com/mcp", headers: { Authorization: "Bearer planted-content" } },
      oauth: false,
    },
  },
  roo: {
    weather: {
      target: {
        command: "node",
        args: ["/srv/weather/server.js", "planted-WEATHER_MODE"],
        env: { API_KEY: "planted-WEATHER_KEY" },
        cwd: "/home/shop",
      },
      callTimeoutMs: 60_000,
      trust: ["forecast"],
      tools: { deny: ["storm"] },
    },
    remote: {
      target: {
        url: "https://example.com/mcp",
        type: "http",
        headers: { Authorization: "Bearer planted-roo-secret" },
      },
      enabled: false,
    },
  },
  vscode: {
    github: {
      target: {
        url: "https://api.githubcopilot.com/mcp/",
        type: "http",
        headers: { Authorization: "Bearer planted-input" },
      },
    },
    local: {
      target: {
        command: "node",
        args: ["/home/shop/dist/server.js", "--region", "eu"],
        cwd: "/home/shop",
        env: { API_KEY: "planted-LOCAL_API_KEY", PORT: "8080", FROM_FILE: "planted-file" },
      },
      envFile: "/home/shop/.env",
    },
  },
  windsurf: {
    figma: {
      target: { url: "https://mcp.figma.com/mcp", headers: { API_KEY: "Bearer planted-content" } },
      tools: { deny: ["delete_file"] },
    },
    local: {
      target: { command: "uvx", args: ["mcp-server-git"], env: { GIT_TOKEN: "planted-GIT_TOKEN" } },
      enabled: false,
    },
  },
  zed: {
    hexdocs: { target: { command: "npx", args: ["-y", "hexdocs-mcp@0.5.0"] }, callTimeoutMs: 90_000 },
    "old-style": { target: { command: "uvx", args: ["mcp-server-time"], env: { TZ: "UTC" } } },
    remote: {
      target: { url: "https://example.com/mcp", headers: { Authorization: "Bearer planted-zed-secret" } },
      enabled: false,
    },
  },
};

/** What cannot be served, and why. */
const refused: Partial<Record<DialectName, readonly string[]>> = {
  goose: [
    "5:11: developer: type is builtin: that is a part of Goose itself (known are stdio, http, sse, openapi and module)",
  ],
  librechat: [
    "32:11: feed: type is websocket: there is no WebSocket transport (known are stdio, http, sse, openapi and module)",
  ],
  zed: ["20:5: github: an extension of Zed starts it (write the command that the extension runs)"],
};

describe("a configuration file", () => {
  it("is there for every dialect", () => {
    expect(samples.map(({ dialect }) => dialect).toSorted()).toEqual(dialects.map(({ name }) => name).toSorted());
  });

  it.each(samples)("of $dialect is known by its path", async (sample) => {
    const parsed = await parseConfig(textOf(sample), { path: sample.path });
    expect(parsed.dialect).toBe(sample.dialect);
  });

  it.each(samples)("of $dialect becomes servers", async (sample) => {
    const { servers, problems } = await resolveText(textOf(sample), sample.path);
    const entries = servers.map(({ origin: _, name, enabled, ...entry }) => [
      name,
      enabled ? entry : { ...entry, enabled },
    ]);
    expect(Object.fromEntries(entries)).toEqual(expected[sample.dialect]);
    expect(problems.map(formatConfigProblem)).toEqual(
      (refused[sample.dialect] ?? []).map((text) => `${sample.path}:${text}`),
    );
  });

  it.each(samples)("of $dialect says where every value came from", async (sample) => {
    const { origins } = await resolveText(textOf(sample), sample.path);
    const lines = textOf(sample).split("\n");
    const fields = origins.flatMap((origin) => origin.fields);
    const elsewhere = fields.filter(({ place }) => place.path !== sample.path);
    expect(fields.length).toBeGreaterThan(2);
    expect(elsewhere.every(({ place }) => place.path.endsWith(".env"))).toBe(true);
    const texts = fields.filter(({ field, secret, variables }) => {
      return (
        /^(?:command|cmd|args|url|uri|httpUrl|serverUrl|type|cwd)\b/.test(field) && !secret && variables.length === 0
      );
    });
    expect(texts.length).toBeGreaterThan(1);
    for (const { place, shown } of texts) {
      const rest = (lines[(place.line ?? 0) - 1] ?? "").slice((place.column ?? 0) - 1);
      expect(rest.replace(/^["']/, "").slice(0, shown.length)).toBe(shown);
    }
  });

  it("of VS Code may be its settings, with the servers in mcp", async () => {
    const text = '{ "editor.tabSize": 2, "mcp": { "inputs": [], "servers": { "a": { "command": "x" } } } }';
    const { servers } = await resolveText(text, "/home/shop/.vscode/settings.json");
    expect(servers.map(({ name, origin }) => [name, origin.dialect])).toEqual([["a", "vscode"]]);
    const dotted = await resolveText(
      '{ "mcp.servers": { "b": { "command": "x" } } }',
      "/home/shop/.vscode/settings.json",
    );
    expect(dotted.servers.map(({ name }) => name)).toEqual(["b"]);
  });

  it.each([
    "/home/shop/.roo/mcp.json",
    "/home/shop/.kilocode/mcp.json",
    "/home/ada/.config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
  ])("of Roo Code at %s has a timeout in seconds (X11)", async (path) => {
    const { servers } = await resolveText('{ "mcpServers": { "a": { "command": "x", "timeout": 60 } } }', path);
    expect(servers).toMatchObject([{ callTimeoutMs: 60_000, origin: { dialect: "roo" } }]);
  });

  it("of opencode may have its servers one level deeper, with times for both", async () => {
    const text = `{ "$schema": "https://opencode.ai/config.json", "mcp": { "servers": {
      "a": { "type": "local", "command": ["x"], "disabled": true, "timeout": { "startup": 5, "request": 7 } } } } }`;
    const { servers } = await resolveText(text, "any.json");
    expect(servers).toMatchObject([
      { name: "a", enabled: false, connectTimeoutMs: 5, callTimeoutMs: 7, origin: { dialect: "opencode" } },
    ]);
  });

  it("of Claude Code has servers of single projects", async () => {
    const text = `{ "mcpServers": { "a": { "command": "general" }, "b": { "command": "b" } }, "projects": {
      "/home/shop": { "mcpServers": { "a": { "command": "particular" } } },
      "/home/other": { "mcpServers": { "c": { "command": "c" } } } } }`;
    const path = "/home/ada/.claude.json";
    const commands = async (workspaceFolder: string) =>
      (await resolveText(text, path, { workspaceFolder })).servers.map(
        ({ target }) => "command" in target && target.command,
      );
    expect(await commands("/home/shop")).toEqual(["particular", "b"]);
    expect(await commands("/home/other")).toEqual(["general", "b", "c"]);
    expect(await commands("/elsewhere")).toEqual(["general", "b"]);
  });

  it("can be given the dialect that its path does not tell", async () => {
    const text = textOf(sampleOf("gemini"));
    const parsed = await parseConfig(text, { path: "team.json", dialect: "gemini" });
    expect(parsed.dialect).toBe("gemini");
    expect((await parseConfig(text, { path: "team.json" })).dialect).toBe("generic");
  });
});
