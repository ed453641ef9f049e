import type { HostEvent } from "../../host/status.ts";
import type { ServerEvent } from "../../protocol/server-event.ts";
import { oneLine } from "../terminal/printable.ts";
import type { Style } from "../terminal/style.ts";

/** How a gateway says what happens: lines for people, one JSON object a line, or nothing. */
export type LogFormat = "text" | "json" | "off";

/** Writes what happens to a gateway. */
export interface GatewayLog {
  /** Something happened to a server of it. */
  host(event: HostEvent): void;
  /** A call ended, or a request was refused. */
  call(event: ServerEvent): void;
}

interface LogOptions {
  readonly format: LogFormat;
  readonly style: Style;
  readonly now: () => Date;
  write(line: string): void;
}

export function createGatewayLog({ format, style, now, write }: LogOptions): GatewayLog {
  if (format === "off") return { host() {}, call() {} };
  if (format === "json") {
    const time = (): string => now().toISOString();
    return {
      host: (event) => write(JSON.stringify({ time: time(), kind: "server", event: event.kind, ...rest(event) })),
      call: (event) => write(JSON.stringify(event)),
    };
  }
  const tell = (text: string | undefined): void => {
    if (text !== undefined) write(`${style.dim(now().toTimeString().slice(0, 8))} ${text}`);
  };
  return { host: (event) => tell(hostText(event, style)), call: (event) => tell(callText(event, style)) };
}

function rest({ kind: _, ...more }: HostEvent): object {
  return more;
}

function hostText(event: HostEvent, style: Style): string | undefined {
  if (event.kind === "name-collision") {
    const where = event.view === "" ? "" : ` in view ${oneLine(event.view)}`;
    return `${style.yellow("name collision")}${where}: ${event.list} ${event.of.map(oneLine).join(", ")} want the name ${oneLine(event.name)}`;
  }
  const name = style.cyan(oneLine(event.server));
  switch (event.kind) {
    case "added":
    case "removed":
      return `${name} ${event.kind}`;
    case "state":
      return `${name} ${stateText(event.status, style)}`;
    case "limit-reached":
      return `${name} ${style.yellow("limit reached")}: ${event.limit} ${event.max} of ${event.caller || "all"}`;
    case "denied":
      return `${name} ${style.yellow("denied")} ${oneLine(event.tool)}: ${event.by}`;
    case "failed":
      return `${name} ${style.red("failed")} ${oneLine(event.method)} (${event.id}): ${oneLine(event.reason.message)}`;
    default:
      return undefined;
  }
}

function stateText({ state, reason, hint }: Extract<HostEvent, { kind: "state" }>["status"], style: Style): string {
  if (reason === undefined) return state === "ready" ? style.green(state) : state;
  const more = hint === undefined ? "" : `; ${hint}`;
  return `${style.red(state)}: ${oneLine(reason.message)}${more}`;
}

function callText(event: ServerEvent, style: Style): string {
  const who = event.principal ?? event.client ?? event.address ?? "somebody";
  const what = [event.method, event.name].filter((text) => text !== undefined).join(" ");
  if (event.kind === "refused") return `${oneLine(who)} ${style.yellow(`refused ${event.code}`)} ${oneLine(what)}`;
  const outcome = event.outcome === "complete" ? "" : ` ${style.yellow(event.code ?? event.outcome)}`;
  return `${oneLine(who)} ${oneLine(what)}${outcome} ${style.dim(`${Math.round(event.durationMs)} ms`)}`;
}
