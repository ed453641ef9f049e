import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { isInitializeRequest } from "@modelcontextprotocol/sdk/types.js";

/** Makes the client of a transport, version 1, ask for an older revision than it would. */
export function speaking<T extends Transport>(revision: string, transport: T): T {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if (!isInitializeRequest(message)) return send(message, options);
    return send({ ...message, params: { ...message.params, protocolVersion: revision } }, options);
  };
  return transport;
}
