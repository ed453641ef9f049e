import { linkSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connectSocket, listenFor, listSockets } from "./warm-sockets.ts";

const id = "0123456789abcdef".repeat(2);

let folder: string;
let servers: Server[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "warm-"));
  servers = [];
});
afterEach(async () => {
  await Promise.all(servers.map((server) => close(server)));
  rmSync(folder, { recursive: true });
});

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}

function newServer(): Server {
  const server = createServer((socket) => socket.resume());
  servers.push(server);
  return server;
}

/** A socket file that nobody listens on, as a process leaves it that was killed. */
async function leaveBehind(number: number): Promise<void> {
  const path = join(folder, `${id}.${number}`);
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(join(folder, "draft"), resolve));
  linkSync(join(folder, "draft"), path);
  await close(server);
}

describe.skipIf(process.platform === "win32")("listening for a target", () => {
  it("is what one process does of many that begin at once", async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => listenFor(newServer(), folder, id)));
    expect(all.filter((socket) => socket !== undefined)).toEqual([{ id, number: 1 }]);
    expect(await listenFor(newServer(), folder, id)).toBe(undefined);
  });

  it("takes the next number where nobody listens any more, and removes what was left", async () => {
    await leaveBehind(1);
    await leaveBehind(4);
    expect(await connectSocket(folder, { id, number: 4 })).toBe(undefined);
    const all = await Promise.all(Array.from({ length: 8 }, () => listenFor(newServer(), folder, id)));
    expect(all.filter((socket) => socket !== undefined)).toEqual([{ id, number: 5 }]);
    expect(readdirSync(folder)).toEqual([`${id}.5`]);
  });

  it("leaves no file, and is not in the way of another target", async () => {
    const server = newServer();
    await listenFor(server, folder, id);
    const other = id.replaceAll("0", "f");
    expect(await listenFor(newServer(), folder, other)).toEqual({ id: other, number: 1 });
    await close(server);
    expect(listSockets(folder)).toEqual([{ id: other, number: 1 }]);
  });

  it("is refused where something else has the name", async () => {
    writeFileSync(join(folder, `${id}.1`), "");
    await expect(listenFor(newServer(), folder, id)).rejects.toMatchObject({ code: "denied" });
  });
});
