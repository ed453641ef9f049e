import { createHash, randomBytes } from "node:crypto";
import { linkSync, lstatSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { McpError } from "../../protocol/errors.ts";

/**
 * A socket in the folder: the id of its target, and a number. The highest number on which somebody listens is the one to
 * use. A number is taken by listening on it, which only one process can, and never taken again while its file is there:
 * who finds a file that nobody listens on takes the next number, so that nobody ever removes a socket that is in use.
 */
export interface WarmSocket {
  readonly id: string;
  readonly number: number;
}

const isWindows = process.platform === "win32";

/** All sockets, or those of a target: the highest numbers first. */
export function listSockets(folder: string, id?: string): readonly WarmSocket[] {
  return namesIn(folder)
    .flatMap((name) => {
      const [, found, number] = /^([\da-f]{32})\.(\d{1,5})$/.exec(name) ?? [];
      if (found === undefined || (id !== undefined && found !== id)) return [];
      return [{ id: found, number: Number(number) }];
    })
    .toSorted((one, other) => other.number - one.number);
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Connects to a socket. Undefined when nobody listens. Rejects with `denied` when somebody else might. */
export async function connectSocket(folder: string, socket: WarmSocket): Promise<Socket | undefined> {
  const file = fileOf(folder, socket);
  const stat = lstatSync(file, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  const isOwn = isWindows ? stat.isFile() : stat.isSocket() && stat.uid === process.getuid?.();
  if (!isOwn) throw new McpError("denied", `${file} is not a socket of yours; remove it`);
  return openSocket(isWindows ? readFileSync(file, "utf8") : file);
}

function openSocket(path: string): Promise<Socket | undefined> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once("connect", () => resolve(socket));
    socket.once("error", (cause: NodeJS.ErrnoException) => {
      if (cause.code === "ECONNREFUSED" || cause.code === "ENOENT") resolve(undefined);
      else reject(new McpError("connection-closed", `cannot connect to ${path}: ${cause.message}`, { cause }));
    });
  });
}

/** Listens for a target, on the next number. Undefined when another process listens for it already. */
export async function listenFor(server: Server, folder: string, id: string): Promise<WarmSocket | undefined> {
  for (let tries = 0; tries < maxTries; tries++) {
    const [last] = listSockets(folder, id);
    if (last !== undefined && (await isInUse(folder, last))) return undefined;
    const socket = { id, number: (last?.number ?? 0) + 1 };
    if (!(await take(server, folder, socket))) continue;
    return (await isCurrent(folder, socket)) ? socket : undefined;
  }
  throw new McpError("internal", `no socket could be made in ${folder}: others take each of them`);
}

const maxTries = 20;

/** False for a number that is too low: others may have come and gone since the folder was looked at. Removes what is left of those before. */
async function isCurrent(folder: string, { id, number }: WarmSocket): Promise<boolean> {
  for (const other of listSockets(folder, id)) {
    if (other.number > number && (await isInUse(folder, other))) return false;
    if (other.number >= number) continue;
    for (const file of [fileOf, pidFile]) rmSync(file(folder, other), { force: true });
  }
  return true;
}

async function isInUse(folder: string, socket: WarmSocket): Promise<boolean> {
  const open = await connectSocket(folder, socket);
  open?.destroy();
  return open !== undefined;
}

/** Says which process listens on a socket, for who has to end it when it does not answer. */
export function notePid(folder: string, socket: WarmSocket): void {
  writeFileSync(pidFile(folder, socket), String(process.pid), { mode: 0o600 });
}

/** The process that listens on a socket, where it has said so. */
export function pidOf(folder: string, socket: WarmSocket): number | undefined {
  try {
    const pid = Number(readFileSync(pidFile(folder, socket), "utf8"));
    return Number.isSafeInteger(pid) && pid > 1 ? pid : undefined;
  } catch {
    return undefined;
  }
}

/** Removes what a process that does not listen any more leaves behind. */
export function forgetSocket(folder: string, socket: WarmSocket): void {
  rmSync(pidFile(folder, socket), { force: true });
  if (isWindows) rmSync(fileOf(folder, socket), { force: true });
}

function pidFile(folder: string, socket: WarmSocket): string {
  return `${fileOf(folder, socket)}.pid`;
}

/** Listens on a number. False when it is taken. */
function take(server: Server, folder: string, socket: WarmSocket): Promise<boolean> {
  return isWindows ? takePipe(server, fileOf(folder, socket)) : takeSocket(server, fileOf(folder, socket));
}

/** The socket is made while `listen` is called: nothing else happens under this mask. */
function takeSocket(server: Server, path: string): Promise<boolean> {
  const before = process.umask(0o177);
  try {
    return listen(server, path);
  } finally {
    process.umask(before);
  }
}

/** The name of a pipe cannot be kept from others, but nobody can guess it before it is there; the file says which it is. */
async function takePipe(server: Server, file: string): Promise<boolean> {
  const pipe = `\\\\.\\pipe\\plugbay-${randomBytes(16).toString("hex")}`;
  if (!(await listen(server, pipe))) return false;
  const draft = `${file}.${createHash("sha256").update(pipe).digest("hex").slice(0, 8)}.tmp`;
  writeFileSync(draft, pipe, { flag: "wx", mode: 0o600 });
  try {
    linkSync(draft, file);
    return true;
  } catch {
    await new Promise((closed) => server.close(closed));
    return false;
  } finally {
    rmSync(draft, { force: true });
  }
}

function listen(server: Server, path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException): void => {
      server.off("listening", done);
      if (error.code === "EADDRINUSE") resolve(false);
      else reject(new McpError("internal", `cannot listen on ${path}: ${error.message}`, { cause: error }));
    };
    const done = (): void => {
      server.off("error", failed);
      resolve(true);
    };
    server.once("error", failed).once("listening", done).listen(path);
  });
}

function fileOf(folder: string, { id, number }: WarmSocket): string {
  return join(folder, `${id}.${number}`);
}
