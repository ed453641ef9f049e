import { rootsChanged } from "../model/notification.ts";
import type { Call, Outcome } from "../model/service.ts";
import { type Context, handlerJob } from "./context.ts";
import type { Environment } from "./environment.ts";
import type { ServerOptions } from "./options.ts";

type Heard = Outcome<"notification">;

const heard: Heard = { kind: "complete", result: {} };

/** Runs what the author wants done about notifications of clients. */
export function createNotificationHandler(
  env: Environment,
  { onNotification, onRootsChanged }: Pick<ServerOptions, "onNotification" | "onRootsChanged">,
): (call: Call<"notification">) => Heard | Promise<Heard> {
  return (call) => {
    const { method, params } = call.params;
    const isAboutRoots = method === rootsChanged;
    if ((isAboutRoots ? onRootsChanged : onNotification) === undefined) return heard;
    const run = (context: Context): void | Promise<void> =>
      isAboutRoots ? onRootsChanged?.(context) : onNotification?.({ method, params }, context);
    return env.runner.run(call, handlerJob(env, { method, run, finish: () => heard })) as Heard | Promise<Heard>;
  };
}
