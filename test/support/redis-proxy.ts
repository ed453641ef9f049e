import { once } from "node:events";
import { type AddressInfo, createConnection, createServer, type Socket } from "node:net";

/** Stands between a store and its Redis, and makes the network bad. */
export interface RedisProxy extends AsyncDisposable {
  readonly url: string;
  /** The answer to the next request never arrives: the connection breaks instead. Resolves to that request. */
  loseNextAnswer(): Promise<Buffer>;
  /** Breaks all connections, and takes no other one until {@link connect}. */
  cut(): void;
  connect(): void;
}

export async function startRedisProxy(port: number): Promise<RedisProxy> {
  const sockets = new Set<Socket>();
  let open = true;
  let lose: ((request: Buffer) => void) | undefined;

  const server = createServer((near) => {
    if (!open) {
      near.destroy();
      return;
    }
    const far = createConnection(port, "127.0.0.1");
    const pair = [near, far];
    let lost: Buffer | undefined;
    for (const socket of pair) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        for (const other of pair) other.destroy();
      });
    }
    near.on("data", (request) => {
      if (lose !== undefined) {
        lost = request;
        lose(request);
        lose = undefined;
      }
      far.write(request);
    });
    far.on("data", (answer) => {
      if (lost === undefined) near.write(answer);
      else near.destroy();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  const cut = (): void => {
    open = false;
    for (const socket of sockets) socket.destroy();
  };

  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    loseNextAnswer() {
      return new Promise((resolve) => {
        lose = resolve;
      });
    },
    cut,
    connect() {
      open = true;
    },
    async [Symbol.asyncDispose]() {
      cut();
      server.close();
      await once(server, "close");
    },
  };
}

/** Sends a request to Redis on a connection of its own, and resolves to the answer. */
export async function sendRaw(port: number, request: Buffer): Promise<string> {
  const socket = createConnection(port, "127.0.0.1");
  socket.write(request);
  const [answer] = (await once(socket, "data")) as [Buffer];
  socket.destroy();
  return answer.toString();
}
