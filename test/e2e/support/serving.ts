import { installed, type Program } from "./places.ts";
import { type Running, start, textOf } from "./run.ts";

/** A program that serves HTTP. Killed when the tests of the file are over. */
export interface Serving extends Running {
  /** Its origin, without a path. */
  readonly url: string;
}

/** Starts a program that tells where it listens, as the fixtures do. */
export async function serve(program: Program): Promise<Serving> {
  const running = await start(program);
  const { child, ended } = running;
  const stderr = textOf(child.stderr);
  child.stdout.resume();
  const listening = new Promise<string>((resolve) => {
    child.stderr.on("data", () => {
      const [, url] = /listening on (http:\S+)/.exec(stderr()) ?? [];
      if (url !== undefined) resolve(url);
    });
  });
  const gone = ended.then(() => {
    throw new Error(`the server is gone: ${stderr()}`);
  });
  return { ...running, url: await Promise.race([listening, gone]) };
}

/** The official server with everything, on a port that the system chooses: by itself it would not tell which. */
export function serveEverything(transport: "streamableHttp" | "sse"): Promise<Serving> {
  const { command, args } = installed("mcp-server-everything", transport);
  const tell = `
    import { Server } from "node:net";
    process.env.PORT = "0";
    const { listen } = Server.prototype;
    Server.prototype.listen = function (...args) {
      this.once("listening", () => console.error("listening on http://127.0.0.1:" + this.address().port));
      return listen.apply(this, args);
    };`;
  return serve({ command, args: ["--import", `data:text/javascript,${encodeURIComponent(tell)}`, ...args] });
}
