import { createAnswerDesk } from "../client/answers.ts";
import { type Client, type ClientOptions, createClient } from "../client/client.ts";
import { toWarn } from "../client/warning.ts";
import type { JsonLimits } from "../json/parse.ts";
import type { Connection, Opening } from "../model/connection.ts";
import { McpError } from "../model/errors.ts";
import type { Implementation } from "../model/peer.ts";
import type { Revision } from "../model/revision.ts";
import type { Service } from "../model/service.ts";
import type { Shaped, ShapesOf, ToolShapes } from "../model/shape.ts";
import { systemClock } from "../std/clock.ts";
import { defined } from "../std/defined.ts";
import { openChannel } from "../transport/open-channel.ts";
import { openInProcess } from "./in-process.ts";
import { type Place, readTarget, type Target } from "./target.ts";

export interface ConnectOptions extends ClientOptions {
  /** What the client says of itself. Default: this package. */
  readonly info?: Implementation;
  /** The revision to speak. Default: the newest both sides know. */
  readonly revision?: Revision;
  /** How long one step of connecting may take. Default 30 s. */
  readonly connectTimeoutMs?: number;
  /** How long a server may ignore the modern opening before the older one is tried. Default 3 s. */
  readonly probeMs?: number;
  /** Bytes of one line of a server on stdio. Default 16 MiB; 0 is off. */
  readonly maxLineBytes?: number;
  /** Bounds on the JSON of a server on stdio. Default: 64 levels, 65,536 elements. */
  readonly jsonLimits?: JsonLimits;
  /** Ends the attempt to connect. */
  readonly signal?: AbortSignal;
}

/**
 * Connects to a server and returns a client for it.
 *
 * The era is found out, and nothing of it shows. Give the type of a server to
 * have its tools typed: `connect<typeof shop>("node shop.js")`; a server given
 * as a value brings its types along.
 */
export function connect<T extends ToolShapes>(
  server: Service & Shaped<T>,
  options?: ConnectOptions,
): Promise<Client<T>>;
export function connect<S = unknown>(target: Target, options?: ConnectOptions): Promise<Client<ShapesOf<S>>>;
export async function connect(target: Target, options: ConnectOptions = {}): Promise<Client> {
  const place = readTarget(target);
  return connectBy((opening) => open(place, options, opening), options);
}

/** Connects over whatever `open` opens, and returns a client for it. */
export async function connectBy(
  open: (opening: Opening) => Promise<Connection>,
  options: ConnectOptions = {},
): Promise<Client> {
  const { info = ownInfo, connectTimeoutMs = 30_000, clock = systemClock, revision, signal } = options;
  if (signal?.aborted) throw new McpError("cancelled", "connecting was cancelled", { cause: signal.reason });
  const desk = createAnswerDesk(options);
  const connection = await open({
    info,
    capabilities: desk.capabilities,
    answer: desk.answer,
    notified: desk.notified,
    timeoutMs: connectTimeoutMs,
    clock,
    ...defined({ revision, signal }),
  });
  askForLogs(connection, options);
  return createClient(connection, desk, options);
}

/** Legacy servers choose what to send until they are told. One that will not be told sends what it likes. */
function askForLogs({ server, setLogLevel }: Connection, options: ConnectOptions): void {
  const { onLog, logLevel = "info" } = options;
  const warn = toWarn(options.onWarning);
  if (onLog === undefined || server.capabilities.logging === undefined) return;
  setLogLevel?.(logLevel).catch((cause: unknown) => {
    if (cause instanceof McpError && cause.code === "connection-closed") return;
    warn({ kind: "not-honoured", message: `the server refuses log level ${logLevel}`, cause });
  });
}

const ownInfo: Implementation = { name: "plugbay", version: "0.1.0" };

async function open(place: Place, options: ConnectOptions, opening: Opening): Promise<Connection> {
  const { probeMs, maxLineBytes, jsonLimits } = options;
  switch (place.kind) {
    case "service":
      return openInProcess(place.service, opening);
    case "command": {
      // Only who starts programs needs the platform for it.
      const { openCommand } = await import("../transport/node/open-command.ts");
      return openCommand(place.command, opening, defined({ probeMs, maxLineBytes, jsonLimits }));
    }
    case "channel":
      return openChannel(place.channel, opening, defined({ probeMs }));
    case "url":
      throw new McpError("unsupported", `cannot connect to ${place.url.origin}: this version speaks stdio only`);
  }
}
