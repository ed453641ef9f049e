import { once } from "node:events";
import { type ClientRequest, createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

/** What stands in front of several servers, and gives each request to the next of them. */
export interface RoundRobin extends AsyncDisposable {
  readonly url: string;
  /** The ports it knows. Ones that are not there are passed over. */
  ports: readonly number[];
  /** Requests that were handed on, by port. */
  readonly handed: ReadonlyMap<number, number>;
}

export async function startRoundRobin(ports: readonly number[]): Promise<RoundRobin> {
  const handed = new Map<number, number>();
  const sockets = new Set<Socket>();
  let at = 0;

  const server = createServer(async (incoming, outgoing) => {
    const body = await readBody(incoming);
    const known = robin.ports;
    const first = at++;
    for (let attempt = 0; attempt < known.length; attempt++) {
      const port = known[(first + attempt) % known.length] ?? 0;
      if (await handOn(port, incoming, outgoing, body)) return void handed.set(port, (handed.get(port) ?? 0) + 1);
    }
    outgoing.writeHead(502).end();
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  const robin: RoundRobin = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    ports,
    handed,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
  return robin;
}

async function readBody(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** False when nobody listens there, and so nothing was done. */
function handOn(port: number, incoming: IncomingMessage, outgoing: ServerResponse, body: Buffer): Promise<boolean> {
  const { method, url, headers } = incoming;
  return new Promise((resolve) => {
    const onward: ClientRequest = request({ host: "127.0.0.1", port, method, path: url, headers, agent: false });
    onward.on("response", (response) => {
      outgoing.writeHead(response.statusCode ?? 500, response.headers);
      outgoing.flushHeaders();
      response.on("error", () => outgoing.destroy());
      response.on("aborted", () => outgoing.destroy());
      response.pipe(outgoing);
      outgoing.on("close", () => response.destroy());
      resolve(true);
    });
    onward.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ECONNREFUSED") return resolve(false);
      outgoing.destroy();
      resolve(true);
    });
    outgoing.on("close", () => onward.destroy());
    onward.end(body);
  });
}
