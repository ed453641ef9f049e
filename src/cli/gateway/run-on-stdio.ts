import { openGateway } from "../../gateway/open-gateway.ts";
import { serveStdio } from "../../transport/node/serve-stdio.ts";
import type { CommandContext } from "../command.ts";
import { type ReadySettings, toGatewayOptions } from "./gateway-settings.ts";
import type { GatewaySources } from "./gateway-sources.ts";

/** Serves a gateway on stdin and stdout, until the client hangs up or the command is interrupted. */
export async function runOnStdio(
  { source }: GatewaySources,
  settings: ReadySettings,
  context: CommandContext,
): Promise<void> {
  const gateway = await openGateway(source, toGatewayOptions(settings, context));
  try {
    const serving = await serveStdio(gateway, { exit: false, signals: false });
    context.signal.addEventListener("abort", () => void serving.close(), { once: true });
    if (context.signal.aborted) await serving.close();
    await serving.closed;
  } finally {
    await gateway.close();
    await settings.store?.close();
  }
}
