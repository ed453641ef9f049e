import { Client, type Transport, type VersionNegotiationMode } from "@modelcontextprotocol/client";
import { createLog } from "./events.ts";
import { capabilities, home, type Official, parrot, type ToolResult, textOf } from "./official.ts";

/** Opens a session with the client of the official SDK, version 2. */
export async function openV2(transport: Transport, mode: VersionNegotiationMode): Promise<Official<Client>> {
  const client = new Client({ name: "official", version: "2" }, { versionNegotiation: { mode }, capabilities });
  const session: Official<Client> = {
    client,
    fill: () => ({ action: "cancel" }),
    sample: parrot,
    callTool: async (params, options) => (await client.callTool(params, options)) as ToolResult,
    call: async (name, args = {}) => textOf(await session.callTool({ name, arguments: args })),
    changes: createLog(),
    logged: createLog(),
  };
  const { changes, logged } = session;
  client.setRequestHandler("elicitation/create", ({ params }) => session.fill(params));
  client.setRequestHandler("sampling/createMessage", ({ params }) => session.sample(params));
  client.setRequestHandler("roots/list", () => home);
  client.setNotificationHandler("notifications/tools/list_changed", () => changes.add("tools"));
  client.setNotificationHandler("notifications/prompts/list_changed", () => changes.add("prompts"));
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => changes.add(params.uri));
  client.setNotificationHandler("notifications/message", ({ params }) => logged.add(params));
  await client.connect(transport);
  return session;
}
