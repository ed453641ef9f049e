import { dial } from "../../connect/connect.ts";
import type { CommandContext, OptionValues } from "../command.ts";
import { createReloadingService } from "../serving/reloading-service.ts";
import { findTarget, withOptions } from "../target/open-target.ts";
import type { targetOptions } from "../target/target-options.ts";
import type { TypedTarget } from "../target/typed-target.ts";
import { UsageError } from "../usage-error.ts";

/** Where the suite finds the target. */
export interface TestedUrl extends AsyncDisposable {
  readonly url: string;
  /** False where the target is a program, which is served at the URL meanwhile. */
  readonly isOwn: boolean;
}

/** The URL of a target; a program is served at a URL of this machine. Throws for what the suite cannot reach. */
export async function testedUrl(target: TypedTarget, context: CommandContext): Promise<TestedUrl> {
  const { signal } = context;
  const given: Partial<OptionValues<typeof targetOptions>> = context.parseWith({}).options;
  const { entry, server } = await findTarget(target, context);
  if ("url" in entry) {
    if ((given.header ?? []).length > 0 || Object.keys(entry.headers ?? {}).length > 0) {
      throw new UsageError(
        "the conformance suite sends no headers of its own",
        "test a server that lets it in without them",
      );
    }
    // The suite says of a server that is not there that every scenario fails.
    await context.openTarget();
    return { url: entry.url, isOwn: true, [Symbol.asyncDispose]: async () => {} };
  }
  const program = withOptions(entry, given, context);
  const connectTimeoutMs = given["connect-timeout"] ?? server?.connectTimeoutMs;
  const opened = await dial(program, { signal, connectTimeoutMs, timeoutMs: given.timeout ?? server?.callTimeoutMs });
  const reloading = createReloadingService(opened);
  const { serveHttp } = await import("../../transport/node/serve-http.ts");
  const serving = await serveHttp(reloading.service, { port: 0, drainMs: 0 });
  return {
    url: serving.url,
    isOwn: false,
    async [Symbol.asyncDispose]() {
      await serving.close();
      await reloading.close();
    },
  };
}
