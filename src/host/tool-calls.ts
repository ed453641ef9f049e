import type { ToolCallOptions } from "../client/call-options.ts";
import type { Line } from "../connect/create-connect.ts";
import type { JsonObject } from "../json/json.ts";
import { McpError } from "../model/errors.ts";
import type { CallToolResult } from "../model/tool.ts";
import type { Clock } from "../std/clock.ts";
import { type Access, denied } from "./access.ts";
import type { HostTool } from "./host-tool.ts";
import { qualify } from "./names.ts";
import type { Results } from "./results.ts";
import type { Route, Routes } from "./routes.ts";

export interface ToolCallsOptions {
  readonly routes: Routes;
  readonly access: Access;
  /** Cuts what is too large; absent where nothing is. */
  readonly results: Results | undefined;
  /** How often a call that its connection did not survive is sent again, where the tool allows it. */
  readonly retries: number;
  readonly clock: Clock;
}

/** Calls tools of any server. */
export interface ToolCalls {
  call(name: string, args?: JsonObject, options?: ToolCallOptions): Promise<CallToolResult>;
  /** Opens the way to a tool: connects, judges, asks for consent. Throws when it may not be called. */
  admit(route: Route, asking: Asking): Promise<Line>;
}

/** What is told to whoever is asked for consent. */
export interface Asking {
  readonly args: JsonObject | undefined;
  readonly signal: AbortSignal | undefined;
  /** True when they were asked before, for the same call. */
  readonly isConsented?: boolean;
}

/** One call on its way. */
interface Sending {
  readonly route: Route;
  readonly args: JsonObject | undefined;
  readonly options: ToolCallOptions | undefined;
}

export function createToolCalls({ routes, access, results, retries, clock }: ToolCallsOptions): ToolCalls {
  const admit: ToolCalls["admit"] = async (route, { args, signal, isConsented = false }) => {
    const { seat } = route;
    const line = seat.member.line ?? (await seat.member.open(signal));
    if (route.isClear) return line;
    if (access.isOpen && seat.spec.tools === undefined) {
      route.isClear = true;
      return line;
    }
    const tool = await findTool(route, line);
    const decision = await access.judge(tool, seat.spec);
    if (decision.action === "deny") throw denied(tool.name, decision);
    if (decision.action === "allow") route.isClear = true;
    else if (!isConsented) await access.approve(tool, args, decision, signal);
    return line;
  };

  const send = ({ route, args, options }: Sending, line: Line): Promise<CallToolResult> =>
    route.seat.member.use(line.client.callTool(route.localName, args, options));

  const sendAgain = async (sending: Sending, error: unknown): Promise<CallToolResult> => {
    const { route, args, options } = sending;
    for (let left = retries, reason = error; ; left--) {
      if (left <= 0 || !isLoss(reason) || options?.signal?.aborted === true || !isRepeatable(route)) throw reason;
      try {
        await endOf(route, clock);
        return await send(sending, await admit(route, { args, signal: options?.signal, isConsented: true }));
      } catch (again) {
        reason = again;
      }
    }
  };

  const finish = (sending: Sending, sent: Promise<CallToolResult>): Promise<CallToolResult> => {
    const fit = (result: CallToolResult): CallToolResult =>
      results === undefined ? result : results.fit(sending.route.localName, result);
    return sent.then(fit, (error: unknown) => sendAgain(sending, error).then(fit));
  };

  return {
    call(name, args, options) {
      try {
        const route = routes.find(name);
        const sending = { route, args, options };
        const { line } = route.seat.member;
        if (line !== undefined && route.isClear) return finish(sending, send(sending, line));
        const admitted = admit(route, { args, signal: options?.signal });
        return finish(
          sending,
          admitted.then((opened) => send(sending, opened)),
        );
      } catch (error) {
        return Promise.reject(error);
      }
    },
    admit,
  };
}

/**
 * Waits for the end of a connection that a call was lost on. A program is about
 * to be gone for everybody; over HTTP only one request may have been.
 */
async function endOf({ seat }: Route, clock: Clock): Promise<void> {
  const { line } = seat.member;
  if (line === undefined) return;
  let stop = (): void => {};
  const soon = new Promise<void>((resolve) => {
    stop = clock.after(100, resolve);
  });
  await Promise.race([line.connection.ended, soon]);
  stop();
}

/** The tool of a route, from the list of its server. */
async function findTool(route: Route, line: Line): Promise<HostTool> {
  const { seat, localName } = route;
  const tools = await seat.tools.get(line);
  route.tool = tools.find((tool) => tool.localName === localName);
  if (route.tool !== undefined) return route.tool;
  const name = qualify(seat.name, localName);
  throw new McpError("invalid-params", `server ${seat.name} lists no tool ${JSON.stringify(localName)}`, {
    data: { reason: "unknown-tool", name },
  });
}

function isLoss(error: unknown): boolean {
  return error instanceof McpError && error.code === "connection-closed";
}

/** Whether calling twice is said to be the same as calling once. Where nothing is known, it is not. */
function isRepeatable({ seat, localName, tool }: Route): boolean {
  const known = tool ?? seat.tools.last.find((listed) => listed.localName === localName);
  return known?.annotations?.readOnlyHint === true || known?.annotations?.idempotentHint === true;
}
