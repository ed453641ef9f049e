import { once } from "node:events";
import { get } from "node:http";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { createLog } from "./events.ts";

/** Connections to a server that can all be cut at once. */
export interface Wire extends AsyncDisposable {
  /** The server's URL at this end. */
  readonly url: string;
  /** Breaks every connection there is, and says how many. New ones may be made. */
  cut(): number;
  /** Breaks every connection there is, without the server noticing before the next cut. */
  lose(): void;
  /** From now on, new connections lead to the server behind this URL. */
  moveTo(to: string): void;
  /** What has been sent to the server so far. */
  sent(): string;
  /** Resolves when what has been sent fits. */
  said(fits: (sent: string) => boolean): Promise<void>;
}

/** Lays a wire to the server behind a URL. */
export async function layWire(to: string): Promise<Wire> {
  let far = new URL(to);
  let sent = "";
  const heard = createLog<string>();
  /** Both ends of every connection. What was lost has the far end only. */
  const connections = new Map<Socket, Socket>();
  const { pathname } = far;

  const join = (near: Socket): void => {
    const beyond = connect(Number(far.port), far.hostname);
    connections.set(beyond, near);
    for (const socket of [near, beyond]) socket.on("error", () => {});
    near.on("data", (chunk) => {
      sent += chunk;
      heard.add(sent);
    });
    near.pipe(beyond).pipe(near);
    near.on("close", () => {
      if (connections.get(beyond) === near) beyond.destroy();
    });
    beyond.on("close", () => {
      connections.delete(beyond);
      near.destroy();
    });
  };
  const cut = (): number => {
    const broken = [...connections];
    connections.clear();
    for (const sockets of broken) for (const socket of sockets) socket.destroy();
    return broken.length;
  };

  const server = createServer(join);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: new URL(pathname, `http://127.0.0.1:${(server.address() as AddressInfo).port}`).href,
    cut,
    lose() {
      for (const [beyond, near] of connections) {
        connections.set(beyond, beyond);
        near.destroy();
        beyond.resume();
      }
    },
    moveTo(next) {
      far = new URL(next);
    },
    sent: () => sent,
    async said(fits) {
      await heard.find(fits);
    },
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      cut();
      await closed;
    },
  };
}

/** Resolves when what happened to connections before has reached everybody, for a request after it was answered. */
export async function noticed({ url }: Wire): Promise<void> {
  const [response] = await once(get(url, { agent: false }), "response");
  await once(response.resume(), "end");
}
