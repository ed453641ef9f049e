import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { openStore } from "plugbay/store";
import { findProgram, isThere, startProgram } from "./processes.mjs";

/** What all processes share: the store of `url`, else a Redis for this run, else a SQLite file. */
export async function chooseStore(url, folder) {
  if (url?.startsWith("memory:"))
    throw new Error("STORE=memory: is the store of one process; give redis://… or sqlite:…");
  if (url) return { url, stop: async () => {} };
  const program = await findProgram("redis-server", "valkey-server");
  if (program !== undefined) return startRedis(program, folder);
  const file = `sqlite:${join(folder, "store.db")}`;
  try {
    await (await openStore(file)).close();
  } catch (cause) {
    const advice =
      "install Redis (on Debian: apt-get install redis-server), or use Node 22.13 or later, which has SQLite";
    throw new Error(`there is no store that two processes can share: ${advice}`, { cause });
  }
  return { url: file, stop: async () => {} };
}

/** A Redis for this run, for programs on this machine only. */
async function startRedis(program, folder) {
  const [port, pid] = [String(await freePort()), join(folder, "redis.pid")];
  const kept = ["--dir", folder, "--appendonly", "yes"];
  const args = ["--port", port, "--bind", "127.0.0.1", "--pidfile", pid, "--loglevel", "warning", ...kept];
  // It writes the file when it listens.
  const redis = await startProgram("redis", program, args, () => isThere(pid));
  return { url: `redis://127.0.0.1:${port}`, stop: redis.stop };
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}
