import type { Client } from "../../client/client.ts";
import type { ServerSurface } from "../../lock/lock.ts";
import { McpError } from "../../protocol/errors.ts";
import { newest } from "../../protocol/revision.ts";
import { exitCodeOf } from "../frame/exit-codes.ts";
import { readSurface } from "../surface/read-surface.ts";
import { oneLine } from "../terminal/printable.ts";
import { fieldsOf } from "../values/signature.ts";
import type { Ladder } from "./step.ts";

export interface ProtocolOptions {
  readonly signal: AbortSignal;
  readonly loginLine: string;
  /** A line that calls a tool of the target, as it may be shown. */
  callLine(tool: string): Promise<string>;
  open(): Promise<Client>;
}

/** Connects, lists, and makes one call that does no harm. The surface, where it could be listed. */
export async function checkProtocol(ladder: Ladder, options: ProtocolOptions): Promise<ServerSurface | undefined> {
  const { signal, loginLine } = options;
  const attempt = async <T>(name: string, work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof McpError) || signal.aborted) throw error;
      explain(name, error, ladder, loginLine);
      return undefined;
    }
  };
  const client = await attempt("protocol", options.open);
  if (client === undefined) return undefined;
  const { serverInfo } = client.server;
  const spoken = `${oneLine(serverInfo.name)} ${oneLine(serverInfo.version)} speaks ${client.revision}`;
  if (client.revision === newest) ladder.ok("protocol", spoken);
  else ladder.warn("protocol", `${spoken}, which is not the newest: ${newest}`);
  const surface = await attempt("list", () => readSurface(client, serverInfo.name, signal));
  if (surface === undefined) return undefined;
  const { tools, prompts = [], resources = [] } = surface;
  ladder.ok("list", `${tools.length} tools, ${prompts.length} prompts, ${resources.length} resources`);
  await attempt("call", () => callHarmlessly(client, surface, ladder, options));
  return surface;
}

/** Calls a tool that says of itself that it only reads, without arguments; else it pings. */
async function callHarmlessly(
  client: Client,
  { tools }: ServerSurface,
  ladder: Ladder,
  { signal, callLine }: ProtocolOptions,
): Promise<undefined> {
  const tool = tools.find(
    ({ annotations, inputSchema, execution }) =>
      annotations?.readOnlyHint === true &&
      execution?.taskSupport !== "required" &&
      fieldsOf(inputSchema).every(({ required }) => !required),
  );
  const start = performance.now();
  const took = (): string => `${Math.round(performance.now() - start)} ms`;
  if (tool === undefined) {
    await client.ping({ signal });
    return ladder.ok("call", `a ping took ${took()}; no tool says that it only reads and needs nothing`);
  }
  const { isError } = await client.callTool(tool.name, {}, { signal });
  if (isError === true)
    ladder.warn("call", `${oneLine(tool.name)} reports an error`, `see it with: ${await callLine(tool.name)}`);
  else ladder.ok("call", `${oneLine(tool.name)} answered in ${took()}`);
}

function explain(name: string, error: McpError, ladder: Ladder, loginLine: string): undefined {
  const message = oneLine(error.message, 500);
  const exitCode = exitCodeOf(error);
  const isTooLong = error.code === "parse-error" && /longer than/.test(message);
  switch (isTooLong ? "limit-reached" : error.code) {
    case "unauthorized":
    case "forbidden":
      return ladder.fail("auth", message, `sign in with: ${loginLine}`, exitCode);
    case "unsupported-revision":
      return ladder.fail(
        "revision",
        `no revision of the protocol is known to both sides: ${message}`,
        "update the older side",
        exitCode,
      );
    case "limit-reached":
      return ladder.fail(
        "size",
        `an answer is too large: ${message}`,
        "have the server use pages, or answer less",
        exitCode,
      );
    case "invalid-response":
    case "parse-error":
      return ladder.fail(name, `the server breaks the protocol: ${message}`, "tell whoever wrote the server", exitCode);
    case "timeout":
      return ladder.fail(name, `the server is too slow: ${message}`, "raise --connect-timeout or --timeout", exitCode);
    default:
      return ladder.fail(name, message, "look into the log of the server", exitCode);
  }
}
