import type { JsonObject } from "../../json/json.ts";
import { createPeer } from "../../jsonrpc/create-peer.ts";
import { lineChannel } from "../../transport/node/line-channel.ts";
import { type WarmStatus, warmLimits, warmMethods } from "./messages.ts";
import { checkWarmFolder, warmFolder } from "./warm-folder.ts";
import { connectSocket, listSockets, pidOf, type WarmSocket } from "./warm-sockets.ts";

/** A background process of this user that runs. */
export interface RunningBackground {
  /** Of its target. */
  readonly id: string;
  readonly pid: number | undefined;
  /** Undefined when it does not answer. */
  readonly status: WarmStatus | undefined;
  /** Ends it with all servers that it keeps. Resolves when they are gone; false when it cannot be ended. One that does not answer is killed. */
  stop(): Promise<boolean>;
}

/** All background processes of this user. */
export async function runningBackgrounds(env: NodeJS.ProcessEnv): Promise<readonly RunningBackground[]> {
  const folder = warmFolder(env);
  if (!checkWarmFolder(folder)) return [];
  const all = await Promise.all(
    listSockets(folder).map(async (socket) => {
      const status = await ask(folder, socket, warmMethods.status);
      if (status === "nobody") return [];
      const pid = pidOf(folder, socket);
      const stop = async (): Promise<boolean> => {
        const isOver = status !== undefined && (await ask(folder, socket, warmMethods.stop)) !== undefined;
        return isOver || end(pid);
      };
      return [{ id: socket.id, pid, status: status as unknown as WarmStatus | undefined, stop }];
    }),
  );
  return all.flat();
}

/** Ends those that are connected to an origin, so that none of them goes on as somebody who has signed in or out since. */
export async function stopBackgroundsAt({ origin }: URL, env: NodeJS.ProcessEnv): Promise<void> {
  const running = await runningBackgrounds(env).catch(() => []);
  await Promise.all(running.filter(({ status }) => status?.origin === origin).map(({ stop }) => stop()));
}

/** Ends a process that listens and does not answer: its servers do not outlive it. False when it cannot be ended. */
function end(pid: number | undefined): boolean {
  try {
    return pid !== undefined && process.kill(pid, "SIGKILL");
  } catch {
    return false;
  }
}

/** How long a background process may take to answer. To end a server takes up to three seconds. */
const patience = { idleMs: 5_000, totalMs: 5_000 };

/** Asks the process that listens on a socket. Undefined when it does not answer. */
async function ask(folder: string, socket: WarmSocket, method: string): Promise<JsonObject | "nobody" | undefined> {
  const open = await connectSocket(folder, socket);
  if (open === undefined) return "nobody";
  const rpc = createPeer(
    lineChannel(open, open, { limits: warmLimits }),
    { onRequest: () => undefined, onNotification() {} },
    { drainMs: 0, answerUnreadable: false },
  );
  void rpc.run();
  const reply = await rpc.request(method, () => ({}), { limits: patience, cancellable: false });
  await rpc.close();
  if (reply.kind === "lost" && reply.reason === "closed") return "nobody";
  return reply.kind === "success" ? reply.result : undefined;
}
