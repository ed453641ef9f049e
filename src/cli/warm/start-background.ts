import { spawn } from "node:child_process";
import { isObject } from "../../json/json.ts";
import { parseJson } from "../../json/parse.ts";
import { type ErrorCode, McpError } from "../../protocol/errors.ts";
import type { CommandContext } from "../command.ts";

/**
 * Starts a background process for a target. Resolves when it listens, or has found that another one does. It leads a session
 * of its own, so that Ctrl-C and the end of a terminal do not reach it, and holds none of our streams.
 */
export async function startBackground(id: string, { env, cwd }: Pick<CommandContext, "env" | "cwd">): Promise<void> {
  const flags = process.execArgv.filter((flag) => !flag.startsWith("--inspect"));
  const child = spawn(process.execPath, [...flags, process.argv[1] ?? "", "warm-keep", id, "--json"], {
    cwd,
    env,
    detached: true,
    windowsHide: true,
    stdio: ["ignore", "pipe", "ignore"],
  });
  child.unref();
  const said = await new Promise<string>((resolve, reject) => {
    let text = "";
    child.once("error", reject);
    child.stdout.setEncoding("utf8").on("data", (part: string) => {
      text += part;
      if (text === listening) resolve(text);
    });
    child.stdout.once("close", () => resolve(text));
  });
  child.stdout.destroy();
  if (said !== listening) throw problemOf(said);
}

/** What a background process writes when commands can connect. */
const listening = '{"listening":true}\n';

function problemOf(said: string): McpError {
  const parsed = parseJson(said, { maxJsonDepth: 20, maxJsonNodes: 1_000 });
  const error = parsed.ok && isObject(parsed.value) && isObject(parsed.value.error) ? parsed.value.error : {};
  const { code = "internal", message = "it ended at once" } = error;
  return new McpError(code as ErrorCode, `the background process of --warm could not be started: ${String(message)}`);
}
