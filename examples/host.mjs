// Many servers as one: a config file with a server that works, one that asks, and one that does not exist.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openHost } from "plugbay/host";

const folder = await mkdtemp(join(tmpdir(), "plugbay-host-"));
const file = join(folder, "mcp.json");
const bistro = {
  command: process.execPath,
  args: [fileURLToPath(new URL("bistro-server.mjs", import.meta.url)), "--stdio"],
};
await writeFile(file, JSON.stringify({ mcpServers: { bistro, missing: { command: "no-such-program" } } }));

const host = await openHost(file, {
  policy: [{ when: { readOnly: true }, action: "allow" }, { action: "approve" }],
  onApprove: ({ tool }) => {
    console.log(`approved: ${tool.name}`);
    return true;
  },
});

const tools = await host.listTools();
console.log("tools:", tools.map(({ name, alias }) => `${name} (${alias})`).join(", "));
for (const { server, reason, hint } of tools.missing) console.log(`missing: ${server}: ${reason.message}; ${hint}`);
for (const { name, state } of host.servers()) console.log(`${name} is ${state}`);
const { content } = await host.callTool("bistro:menu");
console.log(content);

await host.close();
await rm(folder, { recursive: true });
