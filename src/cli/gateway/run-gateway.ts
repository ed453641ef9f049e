import { type Gateway, openGateway } from "../../gateway/open-gateway.ts";
import { createMetrics } from "../../metrics/metrics.ts";
import { McpError } from "../../protocol/errors.ts";
import { ownInfo } from "../../protocol/own-info.ts";
import type { Telemetry } from "../../protocol/telemetry.ts";
import { createServer, tool } from "../../server/index.ts";
import type { Routes } from "../../transport/http/routes.ts";
import { type HttpServeHandle, type ServeHttpOptions, serveHttp } from "../../transport/node/serve-http.ts";
import type { CommandContext } from "../command.ts";
import { adminRoutes } from "./admin-routes.ts";
import { createGatewayLog, type GatewayLog, type LogFormat } from "./gateway-log.ts";
import { type ReadySettings, toGatewayOptions } from "./gateway-settings.ts";
import type { GatewaySources } from "./gateway-sources.ts";

export interface RunGatewayOptions {
  readonly sources: GatewaySources;
  readonly settings: ReadySettings;
  readonly log: LogFormat;
  /** Where the routes for operators are served. Undefined: beside the endpoint. */
  readonly adminPort: number | undefined;
  /** Whether another port will do where the usual one is taken. */
  readonly mayMove: boolean;
}

/** A gateway that is served. */
export interface RunningGateway {
  readonly gateway: Gateway;
  readonly serving: HttpServeHandle;
  /** Where the routes for operators are. Undefined where they are not served: callers have to say who they are, and there is no other port. */
  readonly adminUrl: string | undefined;
  /** Answers what is open, then ends everything. */
  close(): Promise<void>;
}

/** Opens a gateway and serves it over HTTP. */
export async function runGateway(options: RunGatewayOptions, context: CommandContext): Promise<RunningGateway> {
  const { settings } = options;
  const metrics = createMetrics();
  const gateway = await openLogged(options, [metrics], context);
  try {
    const routes = adminRoutes(gateway, metrics, () => serving.status());
    const isOpen = settings.serve.auth === undefined;
    const beside = options.adminPort === undefined && isOpen ? routes : {};
    const serving = await listen(
      gateway,
      { ...settings.serve, routes: { ...beside, ...settings.serve.routes } },
      options,
      context,
    );
    const admin = options.adminPort === undefined ? undefined : await serveAdmin(gateway, routes, options.adminPort);
    const close = async (): Promise<void> => {
      await Promise.all([serving.close(), admin?.close()]);
      await gateway.close();
      await settings.store?.close();
    };
    const adminUrl = admin === undefined && !isOpen ? undefined : new URL("/", (admin ?? serving).url).href;
    return { gateway, serving, adminUrl, close };
  } catch (error) {
    await gateway.close();
    await settings.store?.close();
    throw error;
  }
}

/** Opens a gateway that writes down what happens. */
export async function openLogged(
  { sources, settings, log }: Pick<RunGatewayOptions, "sources" | "settings" | "log">,
  more: readonly Telemetry[],
  context: CommandContext,
): Promise<Gateway> {
  const given = toGatewayOptions(settings, context);
  const writer = createGatewayLog({
    format: log,
    style: context.style,
    now: () => new Date(),
    write: (line) => context.live.write(line),
  });
  const telemetry = [given.telemetry ?? [], more].flat();
  const gateway = await openGateway(sources.source, {
    ...given,
    telemetry,
    onEvent(event) {
      writer.call(event);
      given.onEvent?.(event);
    },
  });
  void follow(gateway, writer);
  return gateway;
}

/** Writes down what happens until the gateway is closed. What was too fast to be written is left out. */
async function follow(gateway: Gateway, writer: GatewayLog): Promise<void> {
  for (let isOpen = true; isOpen; ) {
    try {
      for await (const event of gateway.events()) writer.host(event);
      isOpen = false;
    } catch (error) {
      isOpen = error instanceof McpError && error.code === "limit-reached";
    }
  }
}

/** Serves the gateway, at another port where the usual one is taken and nobody has asked for it. */
async function listen(
  gateway: Gateway,
  serve: ServeHttpOptions,
  { mayMove }: RunGatewayOptions,
  context: CommandContext,
): Promise<HttpServeHandle> {
  const options = { health: true, drainMs: 5_000, ...serve };
  try {
    return await serveHttp(gateway, options);
  } catch (error) {
    const { code } = (error instanceof McpError ? (error.cause ?? {}) : {}) as NodeJS.ErrnoException;
    if (code !== "EADDRINUSE" || !mayMove) throw error;
    context.say(`port ${options.port ?? 3000} is taken: another one is used`);
    return serveHttp(gateway, { ...options, port: 0 });
  }
}

/** A server at a port of its own, for this machine only: beside the routes it tells models how the gateway stands. */
function serveAdmin(gateway: Gateway, routes: Routes, port: number): Promise<HttpServeHandle> {
  const admin = createServer({
    name: "plugbay-admin",
    version: ownInfo.version,
    tools: {
      status: tool({
        description: "How the gateway and its servers stand",
        annotations: { readOnlyHint: true },
        run: () => gateway.status(),
      }),
    },
  });
  return serveHttp(admin, { port, routes, health: true });
}
