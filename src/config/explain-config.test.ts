// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables in configuration files look like that
import { describe, expect, it } from "vitest";
import { explainConfig, formatConfigExplanation } from "./explain-config.ts";
import { parseConfig } from "./parse-config.ts";
import { resolveConfig } from "./resolve-config.ts";

const user = `{ "mcpServers": {
  "shop": { "command": "old" },
  "idle": { "command": "idle", "disabled": true }
} }`;

const project = `{
  // of this project
  "mcpServers": {
    "shop": {
      "command": "node",
      "args": ["shop.js", "--root", "\${workspaceFolder}", "--token=\${TOKEN}"],
      "env": { "LEVEL": "debug" },
      "icon": "shop.svg"
    },
    "lost": { "url": "https://\${HOST}/mcp" }
  },
  "servers": { "unread": { "command": "x" } }
}`;

async function explain() {
  const files = [
    await parseConfig(user, { path: "/home/ada/mcp.json" }),
    await parseConfig(project, { path: "/home/shop/mcp.json" }),
  ];
  return explainConfig(await resolveConfig(files, { env: { TOKEN: "very-secret" }, workspaceFolder: "/home/shop" }));
}

describe("explainConfig", () => {
  it("is plain data", async () => {
    const explanation = await explain();
    expect(JSON.parse(JSON.stringify(explanation))).toEqual(explanation);
    expect(explanation.servers.map(({ name, status, app }) => [name, status, app])).toEqual([
      ["shop", "on", "mcp.json"],
      ["idle", "off", "mcp.json"],
      ["lost", "unusable", "mcp.json"],
    ]);
    expect(explanation.servers[0]?.fields).toContainEqual({
      field: "args[3]",
      shown: "--token=***",
      secret: true,
      place: { path: "/home/shop/mcp.json", line: 6, column: 59 },
      variables: ["TOKEN"],
    });
  });
});

describe("formatConfigExplanation", () => {
  it("says for every server what it has, where from, and what is wrong", async () => {
    expect(formatConfigExplanation(await explain())).toBe(`shop (on), mcp.json, /home/shop/mcp.json:4:5
  command    node  (5:18)
  args[0]    shop.js  (6:16)
  args[1]    --root  (6:27)
  args[2]    /home/shop  (6:37, from workspaceFolder)
  args[3]    --token=***  (6:59, from TOKEN)
  env.LEVEL  ***  (7:25)
  ignored: icon  (8:7)
  instead of /home/ada/mcp.json:2:3

idle (off), mcp.json, /home/ada/mcp.json:3:3
  command   idle  (3:24)
  disabled  true  (3:44)

lost (unusable), mcp.json, /home/shop/mcp.json:10:5
  error: /home/shop/mcp.json:10:22: lost: url needs the variable HOST, which is not set (set HOST, or write \${HOST:-…} to have a default)

warning: /home/shop/mcp.json:12:3: the servers in servers are not read
`);
  });

  it("obeys no control characters", async () => {
    const text = '{ "mcpServers": { "a": { "command": "x", "args": ["\\u001b[31mred\\nnext"], "\\u001b]0;x": 1 } } }';
    const config = await resolveConfig([await parseConfig(text, { path: "a.json" })]);
    expect(formatConfigExplanation(explainConfig(config)).replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
  });

  it("says so when there is nothing", async () => {
    expect(formatConfigExplanation(explainConfig(await resolveConfig([])))).toBe("no servers\n");
  });
});
