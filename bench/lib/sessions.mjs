import { randomUUID } from "node:crypto";

/** Sessions over HTTP, as both versions of the official SDK want them to be kept: a server for each. */
export function serveSessions(createServer, createTransport) {
  const transports = new Map();
  const servers = new Map();

  const open = async () => {
    const server = createServer();
    const transport = createTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        transports.set(id, transport);
        servers.set(id, server);
      },
    });
    await server.connect(transport);
    return transport;
  };

  return {
    servers: () => [...servers.values()],
    async listener(request, response) {
      const id = request.headers["mcp-session-id"];
      if (id !== undefined && !transports.has(id)) return response.writeHead(404).end();
      const transport = transports.get(id) ?? (await open());
      await transport.handleRequest(request, response);
    },
  };
}
