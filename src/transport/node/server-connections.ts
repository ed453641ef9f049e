import type { Server } from "node:http";
import type { Socket } from "node:net";

/** The connections of a server. */
export interface ServerConnections {
  /**
   * Stops listening when what was answered is written, and resolves when no
   * connection is left. Those that are idle are closed; a request that is just
   * arriving has to be answered, or its connection closed by somebody else.
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

  function forget(this: Socket): void {
    sockets.delete(this);
  }
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", forget);
  });

  return {
    async close() {
      await Promise.all([...sockets].map(written));
      const closed = new Promise<unknown>((resolve) => server.close(resolve));
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
      await closed;
    },
  };
}

/** Resolves when all that was given to a socket is on its way, or the socket is gone. */
function written(socket: Socket): Promise<void> | undefined {
  if (socket.writableLength === 0 || socket.destroyed) return undefined;
  return new Promise((resolve) => {
    const look = (): void => {
      if (socket.writableLength > 0 && !socket.destroyed) return;
      socket.off("drain", look);
      socket.off("close", look);
      resolve();
    };
    socket.on("drain", look);
    socket.on("close", look);
  });
}
