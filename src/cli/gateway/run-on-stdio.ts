import { serveStdio } from "../../transport/node/serve-stdio.ts";
import type { CommandContext } from "../command.ts";
import { openLogged, type RunGatewayOptions } from "./run-gateway.ts";

/** Serves a gateway on stdin and stdout, until the client hangs up or the command is interrupted. */
export async function runOnStdio(
  options: Pick<RunGatewayOptions, "sources" | "settings" | "log">,
  context: CommandContext,
): Promise<void> {
  const gateway = await openLogged(options, [], context);
  try {
    const serving = await serveStdio(gateway, { exit: false, signals: false });
    context.signal.addEventListener("abort", () => void serving.close(), { once: true });
    if (context.signal.aborted) await serving.close();
    await serving.closed;
  } finally {
    await gateway.close();
    await options.settings.store?.close();
  }
}
