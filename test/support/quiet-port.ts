import { once } from "node:events";
import { createServer } from "node:net";

let count = 0;

/**
 * A port of 127.0.0.1 that nobody has, and that nobody gets who asks for any: systems hand out higher ones.
 * So it can be left and taken again, and there is nobody at it meanwhile. Each process has its own.
 */
export async function quietPort(): Promise<number> {
  for (;;) {
    const port = lowest + ((process.pid * perProcess + count++) % ports);
    if (await isFree(port)) return port;
  }
}

const lowest = 10_000;
const ports = 20_000;
const perProcess = 8;

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const listening = once(server, "listening");
  server.listen(port, "127.0.0.1");
  try {
    await listening;
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}
