import { McpError } from "../protocol/errors.ts";
import { createGate } from "../std/gate.ts";
import { LazyAbort } from "../std/lazy-abort.ts";
import { onSignal } from "./call-options.ts";

/** How many forms and pages of one server may be in front of the user at the same time. */
const maxOpen = 4;

/** How many more may wait for that. One more is refused. */
const maxWaiting = 100;

/** What one server asks the user: a few questions at a time, and the others in their order. */
export interface FormQueue {
  /**
   * Shows a form once there is room for it. A form whose signal aborts while it waits is never shown. Rejects with
   * `limit-reached` when too many wait, and with `cancelled` when the signal aborts first.
   */
  show<T>(signal: AbortSignal, show: () => Promise<T>): Promise<T>;
}

export function createFormQueue(): FormQueue {
  const gate = createGate({ maxRunning: maxOpen, maxWaiting });

  return {
    show: (signal, show) =>
      new Promise((resolve, reject) => {
        const abort = new LazyAbort();
        const giveUp = (): void => {
          abort.abort(signal.reason);
          reject(new McpError("cancelled", "nobody waits for the answer any more", { cause: signal.reason }));
        };
        if (signal.aborted) return giveUp();
        const unlisten = onSignal(signal, giveUp);
        const work = (): Promise<void> => {
          unlisten();
          return show().then(resolve, reject);
        };
        if (gate.run(work, { abort })) return;
        unlisten();
        reject(tooMany());
      }),
  };
}

function tooMany(): McpError {
  const message = `the server asks the user too much: ${maxOpen} forms are open and ${maxWaiting} wait; ask again later`;
  return new McpError("limit-reached", message, {
    data: { limit: "maxWaitingForms", max: maxWaiting, scope: "connection" },
  });
}
