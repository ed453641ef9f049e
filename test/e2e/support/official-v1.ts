import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  PromptListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { createLog } from "./events.ts";
import { capabilities, home, type Official, parrot, type ToolResult, textOf } from "./official.ts";

/** Opens a session with the client of the official SDK, version 1. */
export async function openV1(transport: Transport): Promise<Official<Client>> {
  const client = new Client({ name: "official", version: "1" }, { capabilities });
  const session: Official<Client> = {
    client,
    fill: () => ({ action: "cancel" }),
    sample: parrot,
    callTool: async (params, options) => (await client.callTool(params, undefined, options)) as ToolResult,
    call: async (name, args = {}) => textOf(await session.callTool({ name, arguments: args })),
    changes: createLog(),
    logged: createLog(),
  };
  const { changes, logged } = session;
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => session.fill(params));
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => session.sample(params));
  client.setRequestHandler(ListRootsRequestSchema, () => home);
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => changes.add("tools"));
  client.setNotificationHandler(PromptListChangedNotificationSchema, () => changes.add("prompts"));
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => changes.add(params.uri));
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => logged.add(params));
  await client.connect(transport);
  return session;
}
