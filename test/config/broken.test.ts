import { describe, expect, it } from "vitest";
import type { DialectName } from "../../src/config/dialects.ts";
import { formatConfigProblem } from "../../src/config/problem.ts";
import { McpError } from "../../src/protocol/errors.ts";
import { resolveText, sampleOf, textOf } from "./samples.ts";

/** One edit of a sample, and what has to be said about it. */
interface Broken {
  readonly dialect: DialectName;
  /** What is replaced, once. */
  readonly old: string;
  readonly by: string;
  /** A text at the place that has to be named, `^` before the character. */
  readonly at: string;
  readonly words: RegExp;
}

/** Mistakes after which the file as a whole cannot be understood. */
const files: readonly Broken[] = [
  { dialect: "generic", old: '"node",', by: '"node"', at: '^"args"', words: /: a comma is missing$/ },
  { dialect: "generic", old: '"node"', by: "node", at: "^node", words: /text needs double quotes/ },
  { dialect: "generic", old: '"far":', by: '"shop":', at: '^"shop": { "url"', words: /shop is there twice; .*:3:5$/ },
  {
    dialect: "generic",
    old: '"inheritEnv"',
    by: '"command"',
    at: '^"command": ["LANG"',
    words: /command is there twice/,
  },
  { dialect: "claude-code", old: "// Shared", by: "/* Shared", at: "^/* Shared", words: /a comment is not closed/ },
  {
    dialect: "claude-code",
    old: '"mcpServers"',
    by: '"servrs"',
    at: "^{",
    words: /it has servrs; understood is mcpServers, servers/,
  },
  {
    dialect: "cursor",
    old: '{\n    "linear"',
    by: '"linear',
    at: '^"linear',
    words: /mcpServers must be an object|not closed/,
  },
  { dialect: "vscode", old: '"servers": {', by: '"servers": [', at: '"github"^: {', words: /comma is missing/ },
  { dialect: "gemini", old: '"python": {', by: '"python" {', at: '"python" ^{', words: /a colon is missing/ },
  { dialect: "opencode", old: '"type": "local",', by: '"type": ,', at: '"type": ^,', words: /a value is expected/ },
  {
    dialect: "windsurf",
    old: '"mcp-server-git"',
    by: '"mcp\\qserver"',
    at: '^"mcp\\qserver"',
    words: /no such escape/,
  },
  {
    dialect: "cline",
    old: '"disabled": false',
    by: '"alwaysAllow": false',
    at: '^"alwaysAllow": false',
    words: /alwaysAllow is there twice/,
  },
  {
    dialect: "codex",
    old: "[mcp_servers.old]",
    by: "[mcp_servers.figma]",
    at: "^mcp_servers.figma]\ncommand",
    words: /redefine/,
  },
  {
    dialect: "codex",
    old: 'command = "npx"',
    by: "command = npx",
    at: "command = ^npx",
    words: /invalid|unexpected|value/i,
  },
  { dialect: "codex", old: '"debug"', by: '"debug', at: 'LOG_LEVEL = "debug^\n', words: /./ },
  {
    dialect: "goose",
    old: "  fetch:",
    by: "  developer:",
    at: "  ^developer:\n    type: stdio",
    words: /developer is there twice; .*:4:3$/,
  },
  { dialect: "goose", old: "    cmd: uvx", by: "\tcmd: uvx", at: "^\tcmd", words: /tabs cannot indent/ },
  {
    dialect: "goose",
    old: "    name: fetch",
    by: "   name: fetch",
    at: "^   name: fetch",
    words: /indentation|not expected|line break/,
  },
  { dialect: "librechat", old: "*remote", by: "*far", at: "<<: ^*far", words: /no anchor|alias/ },
  { dialect: "librechat", old: "<<: *remote", by: "<<: [3]", at: "<<: [^3]", words: /<< needs an object/ },
  {
    dialect: "librechat",
    old: "version: 1.3.1",
    by: "--- \na: 1\n---\nb: 2",
    at: "^---\nb",
    words: /more than one document/,
  },
  {
    dialect: "gemini",
    old: '"clientId": "gemini"',
    by: '"enabled": false',
    at: '^"enabled": false',
    words: /enabled is there twice/,
  },
];

/** Mistakes after which the other servers can still be used. */
const servers: readonly Broken[] = [
  {
    dialect: "generic",
    old: '"shop"',
    by: '"a:b"',
    at: '^"a:b"',
    words: /the name "a:b" has a colon in it \(rename it\)/,
  },
  {
    dialect: "generic",
    old: '"shop"',
    by: '"a\\u0007"',
    at: '^"a\\u0007"',
    words: /"a\\u0007" has control characters/,
  },
  { dialect: "generic", old: '"shop"', by: '""', at: '^"": {', words: /a server needs a name/ },
  { dialect: "generic", old: '"shop"', by: '" shop"', at: '^" shop"', words: /begins or ends with white space/ },
  { dialect: "generic", old: '"node"', by: '""', at: '"command": ^""', words: /shop: command names no program/ },
  {
    dialect: "generic",
    old: '"node"',
    by: '"node shop.js"',
    at: '^"node shop.js"',
    words: /is a whole command line \(write .* in args\)/,
  },
  { dialect: "generic", old: '"node"', by: "7", at: '"command": ^7', words: /command must be text, not a number/ },
  {
    dialect: "generic",
    old: '["shop.js"',
    by: '[["shop.js"]',
    at: '[^["shop.js"]',
    words: /args\[0\] must be text, not a list/,
  },
  { dialect: "generic", old: "5000", by: "-1", at: "^-1", words: /connectTimeoutMs has to be a positive number/ },
  {
    dialect: "generic",
    old: '"inheritEnv": ["LANG"]',
    by: '"url": "https://x.y"',
    at: '^"shop"',
    words: /both a command and a URL/,
  },
  {
    dialect: "generic",
    old: '"inheritEnv": ["LANG"]',
    by: '"cmd": "x"',
    at: '"cmd": ^"x"',
    words: /cmd says the same as command/,
  },
  {
    dialect: "generic",
    old: '{ "url": "https://example.com/mcp?key=planted-query-secret" }',
    by: '"https://x"',
    at: '^"https://x"',
    words: /a server must be an object, not text/,
  },
  {
    dialect: "generic",
    old: '"url": "https:',
    by: '"href": "https:',
    at: '^"far"',
    words: /neither a command nor a URL/,
  },
  {
    dialect: "generic",
    old: '"url": "https:',
    by: '"image": "https:',
    at: '^"far"',
    words: /an image, but no command \(write "docker"/,
  },
  {
    dialect: "generic",
    old: "https://example.com",
    by: "ftp://example.com",
    at: '^"ftp:',
    words: /url is a "ftp:" URL/,
  },
  {
    dialect: "generic",
    old: "https://example.com",
    by: "wss://example.com",
    at: '^"wss:',
    words: /no WebSocket transport/,
  },
  {
    dialect: "generic",
    old: "https://example.com",
    by: "https://ada:planted@example.com",
    at: '^"https://ada',
    words: /user name or password in it/,
  },
  { dialect: "generic", old: "https://example.com", by: "example.com", at: '^"example.com', words: /url is not a URL/ },
  {
    dialect: "claude-code",
    old: '"type": "sse"',
    by: '"type": "stdio"',
    at: '"type": ^"stdio"',
    words: /asana: the type needs a command/,
  },
  {
    dialect: "claude-code",
    old: '"type": "sse"',
    by: '"type": "smoke"',
    at: '"type": ^"smoke"',
    words: /type is smoke, which is not known \(known are stdio, http, sse, openapi and module\)/,
  },
  {
    dialect: "claude-code",
    old: '"type": "sse"',
    by: '"type": "ws"',
    at: '"type": ^"ws"',
    words: /there is no WebSocket transport/,
  },
  {
    dialect: "claude-code",
    old: '"timeout": 120000',
    by: '"headersHelper": "get-headers"',
    at: '^"get-headers"',
    words: /commands are not run/,
  },
  { dialect: "claude-code", old: "8765", by: "70000", at: "^70000", words: /callbackPort must be a port/ },
  {
    dialect: "claude-code",
    old: `\${DATABASE_URL}`,
    by: `\${A:-\${B}}`,
    at: `^"\${A:-`,
    words: /args\[1\] has a variable within a variable/,
  },
  {
    dialect: "claude-code",
    old: '"Authorization"',
    by: '"Bad Name"',
    at: `^"Bearer \${SENTRY`,
    words: /"Bad Name" is not a header name/,
  },
  {
    dialect: "vscode",
    old: '"pickString"',
    by: '"command"',
    at: `^"\${input:region}`,
    words: /args\[2\] needs the input region, which a command would give; commands are not run/,
  },
  {
    dialect: "vscode",
    old: `\${input:region}`,
    by: `\${input:planet}`,
    at: `^"\${input:planet}`,
    words: /args\[2\] needs the input planet, which is not defined/,
  },
  {
    dialect: "vscode",
    old: '"default": "eu"',
    by: '"default": "mars"',
    at: `^"\${input:region}`,
    words: /not one of its options \(pick one of eu, "United States"\)/,
  },
  {
    dialect: "cursor",
    old: '"CLIENT_ID": "cursor-client"',
    by: '"CLIENT_ID": []',
    at: '"CLIENT_ID": ^[]',
    words: /auth.CLIENT_ID must be text, not a list/,
  },
  {
    dialect: "codex",
    old: 'bearer_token_env_var = "FIGMA_TOKEN"',
    by: 'bearer_token = "planted"',
    at: 'bearer_token = ^"',
    words: /write bearer_token_env_var/,
  },
  {
    dialect: "codex",
    old: "tool_timeout_sec = 45",
    by: 'tool_timeout_sec = "45"',
    at: 'tool_timeout_sec = ^"45"',
    words: /must be a number, not text/,
  },
  {
    dialect: "codex",
    old: '"X-Team" =',
    by: '"x-region" =',
    at: 'x-region" = ^"FIGMA_TEAM"',
    words: /the header x-region is there twice/,
  },
  {
    dialect: "codex",
    old: 'env_vars = ["CONTEXT7_API_KEY"',
    by: 'env_vars = ["A=B"',
    at: 'env_vars = [^"A=B"',
    words: /env_vars\[0\] is not a variable name/,
  },
  {
    dialect: "gemini",
    old: '"oauth": {',
    by: '"authProviderType": "google_credentials", "oauth": {',
    at: '^"google_credentials"',
    words: /sign in by OAuth/,
  },
  {
    dialect: "gemini",
    old: '"trust": true',
    by: '"trust": "yes"',
    at: '^"yes"',
    words: /trust must be true or false, not text/,
  },
  {
    dialect: "opencode",
    old: '["npx", "-y", "@modelcontextprotocol/server-everything"]',
    by: "[]",
    at: '"command": ^[]',
    words: /command names no program/,
  },
  {
    dialect: "cline",
    old: '"env": {',
    by: '"env": "A=1", "x": {',
    at: '^"A=1"',
    words: /env must be an object, not text/,
  },
  {
    dialect: "windsurf",
    old: '["delete_file"]',
    by: "[1]",
    at: '"disabledTools": [^1]',
    words: /disabledTools\[0\] must be a name, not a number/,
  },
  {
    dialect: "goose",
    old: "type: streamable_http",
    by: "type: frontend",
    at: "type: ^frontend",
    words: /in the window of Goose/,
  },
  {
    dialect: "goose",
    old: "enabled: true\n  tracker",
    by: "enabled: yes\n  tracker",
    at: "enabled: ^yes",
    words: /enabled must be true or false, not text/,
  },
  {
    dialect: "librechat",
    old: "{{SHEETS_USER}}",
    by: "{{LIBRECHAT_USER_ID}}",
    at: '^"{{LIBRECHAT',
    words: /needs the input LIBRECHAT_USER_ID, which is not defined/,
  },
];

describe("a file that cannot be understood", () => {
  it.each(files)("of $dialect with $by for $old says where and why", async (broken) => {
    const { text, path, place } = edit(broken);
    const error = await resolveText(text, path).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(McpError);
    const { code, message } = error as McpError;
    expect(code).toBe("invalid-config");
    expect(message.slice(0, place.length + 2)).toBe(`${place}: `);
    expect(message.slice(place.length)).toMatch(broken.words);
    expect(message).not.toMatch(/planted/);
  });
});

describe("a server that cannot be used", () => {
  it.each(servers)("of $dialect with $by for $old says where and why, and leaves the others", async (broken) => {
    const { text, path, place } = edit(broken);
    const before = await resolveText(textOf(sampleOf(broken.dialect)), path);
    const config = await resolveText(text, path);
    const [problem, ...more] = config.problems.filter(({ place: at }) => {
      return !before.problems.some((other) => other.place.line === at.line && other.place.path === at.path);
    });
    expect(more).toEqual([]);
    expect(problem?.level).toBe("error");
    const message = problem === undefined ? "" : formatConfigProblem(problem);
    expect(message.slice(0, place.length + 2)).toBe(`${place}: `);
    expect(message.slice(place.length)).toMatch(broken.words);
    expect(message).not.toMatch(/planted/);
    expect(config.servers).toHaveLength(before.servers.length - 1);
    expect(config.servers.map(({ name }) => name)).not.toContain(problem?.server);
  });
});

function edit({ dialect, old, by, at }: Broken): {
  readonly text: string;
  readonly path: string;
  readonly place: string;
} {
  const sample = sampleOf(dialect);
  const whole = textOf(sample);
  if (whole.split(old).length < 2) throw new Error(`${dialect} has no ${old}`);
  const text = whole.replace(old, () => by);
  const mark = at.indexOf("^");
  const needle = at.slice(0, mark) + at.slice(mark + 1);
  const offset = text.indexOf(needle);
  if (offset < 0) throw new Error(`${dialect} has no ${needle}`);
  const lines = text.slice(0, offset + mark).split("\n");
  return { text, path: sample.path, place: `${sample.path}:${lines.length}:${(lines.at(-1)?.length ?? 0) + 1}` };
}
