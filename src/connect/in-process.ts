import type { Connection, Ending, Opening } from "../model/connection.ts";
import { McpError } from "../model/errors.ts";
import { eraOf, newest } from "../model/revision.ts";
import type { Service } from "../model/service.ts";
import { describeService } from "../transport/describe-service.ts";
import { memoryChannels } from "../transport/memory.ts";
import { openChannel } from "../transport/open-channel.ts";
import { serveChannel } from "../transport/serve-channel.ts";

/**
 * Connects to a service in this process.
 *
 * Calls go to it by reference, with nothing between. Where an older revision is
 * asked for, the two ends speak that revision over a channel in memory.
 */
export async function openInProcess(service: Service, opening: Opening): Promise<Connection> {
  const { revision = newest, info, capabilities } = opening;
  const server = await inTime(describeService(service), opening);
  if (eraOf(revision) === "legacy") return openInMemory(service, opening);
  let end = (_ending: Ending): void => {};
  const ended = new Promise<Ending>((resolve) => {
    end = resolve;
  });
  return {
    service,
    revision,
    server,
    peer: { revision, info, capabilities },
    ended,
    async close() {
      end(undefined);
    },
  };
}

/** Connects to a service in this process over the wire of a revision. */
export function openInMemory(service: Service, opening: Opening): Promise<Connection> {
  const [here, there] = memoryChannels();
  serveChannel(there, service, { clock: opening.clock });
  return openChannel(here, opening);
}

/** Gives up on a service that does not say what it is: it may be far away itself. */
async function inTime<T>(work: Promise<T>, { signal, clock, timeoutMs }: Opening): Promise<T> {
  let stop = (): void => {};
  const late = new Promise<never>((_, reject) => {
    const cancel = (): void => reject(new McpError("cancelled", "connecting was cancelled", { cause: signal?.reason }));
    const expire = (): void => reject(new McpError("timeout", "no answer to server/discover in time"));
    const disarm = timeoutMs > 0 ? clock.after(timeoutMs, expire) : () => {};
    signal?.addEventListener("abort", cancel, { once: true });
    stop = () => {
      disarm();
      signal?.removeEventListener("abort", cancel);
    };
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    stop();
  }
}
