import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** The connections of a server, and what is being written to them. */
export interface ServerConnections {
  /**
   * Stops listening when all answers are written, and resolves when no connection
   * is left. Those that are idle are closed; a request that is just arriving has
   * to be answered, or its connection closed by somebody else.
   */
  close(): Promise<void>;
}

/**
 * Watches a server, so that it can be closed without cutting off an answer. Node
 * by itself takes connections for idle before their answer is written, and
 * connections that were never used for busy.
 */
export function watchConnections(server: Server): ServerConnections {
  const sockets = new Set<Socket>();
  const answers = new Set<ServerResponse>();
  let written = (): void => {};

  function forgetSocket(this: Socket): void {
    sockets.delete(this);
  }
  function forgetAnswer(this: ServerResponse): void {
    answers.delete(this);
    if (answers.size === 0) written();
  }
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", forgetSocket);
  });
  server.on("request", (_request: IncomingMessage, response: ServerResponse) => {
    answers.add(response);
    response.on("close", forgetAnswer);
  });

  return {
    async close() {
      if (answers.size > 0) {
        await new Promise<void>((resolve) => {
          written = resolve;
        });
      }
      const closed = new Promise<unknown>((resolve) => server.close(resolve));
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
      await closed;
    },
  };
}
