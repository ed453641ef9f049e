import type { JsonObject } from "../json/json.ts";
import type { Notify } from "../model/service.ts";

/**
 * Tells of changes no faster than they are read.
 *
 * While the reader is slow, the same news about the same thing waits only once:
 * memory grows with what can change, not with how often it does.
 */
export function patientNotify(notify: Notify): Notify {
  const waiting = new Map<string, () => Promise<void> | undefined>();
  let busy = false;

  const sendRest = async (slow: Promise<void>): Promise<void> => {
    busy = true;
    await slow;
    for (const [news, send] of waiting) {
      waiting.delete(news);
      await attempt(send);
    }
    busy = false;
  };

  return (method, params) => {
    if (busy) {
      waiting.set(newsOf(method, params), () => notify(method, params));
      return undefined;
    }
    const slow = notify(method, params);
    if (slow !== undefined) void sendRest(slow);
    return slow;
  };
}

/** Who had the news is gone by now, and need not hear that it cannot be written. */
async function attempt(send: () => Promise<void> | undefined): Promise<void> {
  try {
    await send();
  } catch (error) {
    console.error("plugbay: a notification was not sent:", error);
  }
}

function newsOf(method: string, { uri, taskId, elicitationId }: JsonObject): string {
  const what = uri ?? taskId ?? elicitationId;
  return typeof what === "string" ? `${method} ${what}` : method;
}
