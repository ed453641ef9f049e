import type { IncomingMessage, ServerResponse } from "node:http";
import { McpError } from "../../protocol/errors.ts";
import type { Clock } from "../../std/clock.ts";
import type { Store } from "../../store/store.ts";
import { createHostCheck } from "../http/allowed-hosts.ts";
import type { HttpEndpoint } from "../http/endpoint.ts";
import { createHealth, type HealthOptions } from "../http/health.ts";
import { type HttpAnswer, pathOf, refusal } from "../http/http-message.ts";
import type { FetchRoute, Routes } from "../http/routes.ts";
import { answerByFetch } from "./fetch-bridge.ts";
import { NodeHead } from "./node-handler.ts";
import { discardBody } from "./read-body.ts";

export interface SidePathOptions {
  readonly health: boolean | HealthOptions | undefined;
  readonly routes: Routes | undefined;
  readonly endpoint: HttpEndpoint;
  /** Names of the server. */
  readonly hosts: readonly string[] | "any";
  readonly isSecure: boolean;
  readonly store: (() => Promise<Store>) | undefined;
  readonly clock: Clock;
  readonly drainMs: number;
  warn(message: string): void;
}

/** The paths beside an endpoint. */
export interface SidePaths {
  /** Serves a request for one of them. False when it is for the endpoint, or for nothing. */
  take(request: IncomingMessage, response: ServerResponse): boolean;
  /** Resolves when all requests of routes are answered, or had time enough. */
  drain(): Promise<void>;
}

/** Throws `invalid-definition` for a path that cannot be served. */
export function createSidePaths(options: SidePathOptions): SidePaths {
  const { endpoint, hosts, isSecure, routes = {}, clock, drainMs } = options;
  const health = healthOf(options);
  const probes = new Set(health?.paths);
  const findRoute = createRouteTable(routes);
  const checkHost = createHostCheck(hosts);
  const open = new Set<ServerResponse>();
  let drained = (): void => {};
  for (const path of probes) checkPath("health", path, endpoint);
  for (const path of Object.keys(routes)) checkRoute(path, endpoint, probes);

  const probe = async (path: string, request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const isRead = request.method === "GET" || request.method === "HEAD";
    const answer = isRead ? await health?.answer(path) : refusal(405, "health can only be read; use GET", readable);
    if (answer !== undefined) send(request, response, answer);
  };

  /** What is wrong with a request for a route: a page elsewhere must not reach it by a name of its own. */
  const judge = (head: NodeHead): HttpAnswer | undefined => {
    if (endpoint.isClosing) return closing;
    const badHost = checkHost(head.header("host"));
    return badHost === undefined ? undefined : refusal(403, badHost);
  };

  const serve = async (route: FetchRoute, request: IncomingMessage, response: ServerResponse): Promise<void> => {
    open.add(response);
    response.once("close", () => {
      open.delete(response);
      if (open.size === 0) drained();
    });
    const host = new NodeHead(request).header("host") ?? "localhost";
    try {
      await answerByFetch(route, request, response, `${isSecure ? "https" : "http"}://${host}`);
    } catch (error) {
      console.error(`plugbay: the route for ${pathOf(request.url ?? "")} threw:`, error);
      if (response.headersSent) response.destroy();
      else send(request, response, broken);
    }
  };

  return {
    take(request, response) {
      const head = new NodeHead(request);
      const path = pathOf(head.url);
      if (probes.has(path)) {
        void probe(path, request, response);
        return true;
      }
      if (endpoint.owns(head)) return false;
      const route = findRoute(path);
      if (route === undefined) return false;
      const refused = judge(head);
      if (refused !== undefined) {
        endpoint.refusals?.answered(head, refused.status, endpoint.isClosing ? "connection-closed" : undefined);
        send(request, response, refused);
      } else void serve(route, request, response);
      return true;
    },
    async drain() {
      if (open.size === 0) return;
      let stop = (): void => {};
      await new Promise<void>((resolve) => {
        drained = resolve;
        stop = clock.after(drainMs, resolve);
      });
      stop();
    },
  };
}

const readable = { allow: "GET, HEAD" };
const closing: HttpAnswer = refusal(503, "the server is closing", { "retry-after": "1", connection: "close" });
const broken: HttpAnswer = {
  status: 500,
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ error: "internal error" }),
};

function healthOf({ health, endpoint, ...parts }: SidePathOptions) {
  if (health === undefined || health === false) return undefined;
  return createHealth(health === true ? {} : health, { ...parts, isClosing: () => endpoint.isClosing });
}

function send(request: IncomingMessage, response: ServerResponse, { status, headers, body }: HttpAnswer): void {
  discardBody(request);
  response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) });
  response.end(request.method === "HEAD" ? "" : body);
}

/** The handler for a path: its own, else that of the longest path with `/*` that it is below. */
function createRouteTable(routes: Routes): (path: string) => FetchRoute | undefined {
  const exact = new Map(Object.entries(routes));
  const below = Object.entries(routes)
    .filter(([path]) => path.endsWith("/*"))
    .map(([path, route]) => [path.slice(0, -1), route] as const)
    .toSorted(([one], [other]) => other.length - one.length);
  return (path) => exact.get(path) ?? below.find(([start]) => path.startsWith(start))?.[1];
}

function checkRoute(path: string, endpoint: HttpEndpoint, probes: ReadonlySet<string>): void {
  if (probes.has(path)) throw badPath(path, "is served by health; give health other paths, or the route another one");
  checkPath("a route", path.endsWith("/*") ? path.slice(0, -1) : path, endpoint, path.endsWith("/*"));
}

/** Throws where a path is none, or belongs to the endpoint. What is below a path may. */
function checkPath(owner: string, path: string, endpoint: HttpEndpoint, isBelow = false): void {
  if (!/^\/[^?#\s*]*$/.test(path))
    throw badPath(path, `is no path for ${owner}: it must start with / and have no query`);
  const head = { method: "GET", url: path, header: () => undefined };
  if (!isBelow && endpoint.owns(head)) throw badPath(path, `of ${owner} is served by the MCP endpoint; choose another`);
}

function badPath(path: string, problem: string): McpError {
  return new McpError("invalid-definition", `serveHttp: path ${JSON.stringify(path)} ${problem}`, {
    data: { member: path },
  });
}
