import { type SpawnOptions, spawn } from "node:child_process";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { McpError } from "../../protocol/errors.ts";
import { equalsInConstantTime } from "../client/dpop.ts";
import type { OpenRedirect, Redirect } from "../client/sign-in.ts";

/** Options of the redirect to this machine. */
export interface LoopbackRedirectOptions {
  /** Ports to listen on, the first that is free; for clients that were registered with one. Default: any. */
  readonly ports?: readonly number[] | undefined;
  /** Default `/callback`. */
  readonly path?: string | undefined;
  /** Opens a URL for the user. False when it cannot. Default: the browser of the user. */
  readonly openUrl?: ((url: URL) => Promise<boolean>) | undefined;
  /** Shows the user a URL that could not be opened. Default: on stderr. */
  readonly showUrl?: ((url: URL) => void) | undefined;
}

const host = "127.0.0.1";

/**
 * Sends users to the browser, and waits for them on 127.0.0.1: for one request,
 * at one path, with the right state. Everything else is turned away.
 */
export function loopbackRedirect(options: LoopbackRedirectOptions = {}): Redirect {
  const { ports = [], path = "/callback", openUrl: open = openBrowser, showUrl: show = print } = options;
  if (!/^\/[\w\-./~]*$/.test(path)) throw new McpError("invalid-params", "the path of a redirect must be a plain path");

  return {
    async open(preferred) {
      const server = createServer();
      const port = await listen(server, [...portOf(preferred, path), ...ports], ports.length === 0);
      return opened(server, `http://${host}:${port}${path}`, async (url) => {
        if (!(await open(url).catch(() => false))) show(url);
      });
    },
  };
}

function print(url: URL): void {
  process.stderr.write(`To sign in, open ${url.href}\n`);
}

/** The port of a URI that the client was registered with, if it could have been ours. */
function portOf(uri: string | undefined, path: string): readonly number[] {
  if (uri === undefined || !URL.canParse(uri)) return [];
  const { hostname, port, pathname } = new URL(uri);
  return hostname === host && pathname === path && port !== "" ? [Number(port)] : [];
}

/** Listens on the first port that is free. */
async function listen(server: Server, ports: readonly number[], anyPort: boolean): Promise<number> {
  for (const port of anyPort ? [...ports, 0] : ports) {
    const isListening = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, host, () => resolve(true));
    });
    server.removeAllListeners("error");
    if (isListening) return (server.address() as AddressInfo).port;
  }
  throw new McpError("connection-closed", "no port is free for users to come back to");
}

function opened(server: Server, uri: string, send: (url: URL) => Promise<void>): OpenRedirect {
  const { host: authority, pathname } = new URL(uri);
  let expected: { readonly state: string; received(url: string): void } | undefined;

  server.on("request", (request, response) => {
    const url = targetOf(request, authority);
    if (url?.pathname !== pathname) return answer(response, 404, "Not found.");
    if (request.method !== "GET") return answer(response, 405, "Not allowed.");
    const states = url.searchParams.getAll("state");
    const isExpected =
      expected !== undefined && states.length === 1 && equalsInConstantTime(states[0] ?? "", expected.state);
    if (!isExpected) return answer(response, 400, "This is not the sign-in that was waited for.");
    const { received } = expected ?? {};
    expected = undefined;
    answer(response, 200, "You can close this window and go back to the application.");
    response.on("close", () => received?.(url.href));
  });

  return {
    uri,
    visit: (url, signal) =>
      new Promise((resolve, reject) => {
        signal.throwIfAborted();
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        expected = { state: url.searchParams.get("state") ?? "", received: resolve };
        send(url).catch(reject);
      }),
    [Symbol.asyncDispose]: () => close(server),
  };
}

/** The URL a request is for. Undefined when it was sent by a name that is not ours, such as by a page elsewhere. */
function targetOf({ headers, url = "" }: IncomingMessage, authority: string): URL | undefined {
  const base = `http://${authority}`;
  return headers.host === authority && url.startsWith("/") && URL.canParse(url, base) ? new URL(url, base) : undefined;
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    connection: "close",
  });
  response.end(`<!doctype html><html lang="en"><title>Sign in</title><p>${text}</p></html>\n`);
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** Starts a program. Resolves to whether it started and did not fail at once. */
type Start = (command: string, args: readonly string[]) => Promise<boolean>;

interface BrowserOptions {
  readonly platform?: string;
  readonly start?: Start;
}

/**
 * Opens a URL in the browser of the user. No shell sees it: it is one argument
 * of a program. Resolves to false when there is no way to do so.
 */
export async function openBrowser(url: URL, options: BrowserOptions = {}): Promise<boolean> {
  const { platform = process.platform, start = startProgram } = options;
  // Anything else might be a program, or a file, to whatever opens it.
  if (url.protocol !== "https:" && url.protocol !== "http:") return false;
  const [command, ...args] = openers[platform] ?? ["xdg-open"];
  return command !== undefined && start(command, [...args, url.href]);
}

const openers: Readonly<Record<string, readonly string[]>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

const options: SpawnOptions = { shell: false, detached: true, stdio: "ignore", windowsHide: true };

const startProgram: Start = (command, args) =>
  new Promise((resolve) => {
    const child = spawn(command, [...args], options);
    child.on("error", () => resolve(false));
    // Some openers are the browser themselves, and stay.
    child.on("spawn", () => {
      const settled = setTimeout(resolve, 1_000, true);
      child.on("exit", (code) => {
        clearTimeout(settled);
        resolve(code === 0);
      });
    });
    child.unref();
  });
