import type { Agent } from "node:http";
import type { Socket } from "node:net";

/** How often idle connections are looked at. One is closed after it was idle for one to two of these. */
const sweepMs = 2_000;

/**
 * Closes connections that nobody has used for a while, before their servers do:
 * whoever sends on one that is just being closed gets no answer.
 *
 * Call what is returned after every request; it is free. A timer per connection
 * is not.
 */
export function sweepIdle(agent: Agent): () => void {
  let seen = new Map<Socket, number>();
  let timer: NodeJS.Timeout | undefined;

  const sweep = (): void => {
    const idle = Object.values(agent.freeSockets).flatMap((sockets) => sockets ?? []);
    const [stale, fresh] = [
      idle.filter((socket) => seen.get(socket) === socket.bytesWritten),
      idle.filter((socket) => seen.get(socket) !== socket.bytesWritten),
    ];
    for (const socket of stale) socket.destroy();
    seen = new Map(fresh.map((socket) => [socket, socket.bytesWritten]));
    if (fresh.length > 0 || Object.keys(agent.sockets).length > 0) return;
    clearInterval(timer);
    timer = undefined;
  };

  return () => {
    timer ??= setInterval(sweep, sweepMs).unref();
  };
}
