import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { quietPort } from "../../support/quiet-port.ts";
import { githubClient } from "./github.ts";
import { proxyKey } from "./proxied-server.ts";

export interface ProxyChildOptions {
  readonly port: number;
  readonly resource: string;
  /** The URL of the store. */
  readonly store: string;
  readonly key: string;
  /** The URL of what looks like GitHub. */
  readonly provider: string;
  readonly client: typeof githubClient;
}

export interface ProxyProcess extends AsyncDisposable {
  readonly url: string;
  readonly origin: string;
}

export interface ProxyProcessOptions extends Partial<ProxyChildOptions> {
  readonly provider: string;
  /** A certificate to trust, in a file. */
  readonly ca?: string;
  /** The Node to run it. Default: this one. */
  readonly node?: string;
}

/** Starts a process with a server behind a proxy. */
export async function startProxyProcess({
  ca,
  node = process.execPath,
  ...given
}: ProxyProcessOptions): Promise<ProxyProcess> {
  const { port = await quietPort(), store = "memory:", key = proxyKey(), ...more } = given;
  const origin = `http://127.0.0.1:${port}`;
  const options = { port, store, key, resource: `${origin}/mcp`, client: githubClient, ...more };
  const child = fork(fileURLToPath(new URL("proxy-child.ts", import.meta.url)), [JSON.stringify(options)], {
    execPath: node,
    execArgv: ["--import", import.meta.resolve("tsx")],
    env: { ...process.env, ...(ca !== undefined && { NODE_EXTRA_CA_CERTS: ca }) },
  });
  const end = (): void => void child.kill("SIGKILL");
  process.once("exit", end);
  const gone = once(child, "exit").then(() => process.removeListener("exit", end));
  const failed = gone.then(() => Promise.reject(new Error("the process with the proxy did not start")));
  failed.catch(() => {});
  const [{ url }] = (await Promise.race([once(child, "message"), failed])) as [{ url: string }];
  return {
    url,
    origin,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await gone;
    },
  };
}
