import { McpError } from "../protocol/errors.ts";
import { fetchSend } from "../transport/http/client/fetch-send.ts";
import type { Platform } from "./create-connect.ts";

/** What there is everywhere: `fetch`, and nothing to start programs with. */
export const webPlatform: Platform = {
  async openCommand({ command }) {
    throw new McpError("unsupported", `cannot start ${JSON.stringify(command)}: this platform starts no programs`);
  },
  async openEntry({ type }) {
    throw new McpError("unsupported", `cannot connect to a server of type ${type}: this platform reads no files`);
  },
  // Called without a receiver, as browsers require.
  sendTo: async () => fetchSend((input, init) => fetch(input, init)),
};
