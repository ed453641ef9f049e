import { encodeMessage, type Notification } from "../../../jsonrpc/message.ts";
import type { Deadlines } from "../../../std/deadlines.ts";
import { LazyAbort } from "../../../std/lazy-abort.ts";
import type { Endpoint, Headers } from "./http-endpoint.ts";
import { statusText } from "./http-errors.ts";
import { isOk } from "./read-response.ts";
import type { HttpWarn } from "./tool-headers.ts";

export interface HttpNotifierOptions {
  readonly endpoint: Endpoint;
  readonly deadlines: Deadlines;
  /** For one notification. */
  readonly timeoutMs: number;
  readonly warn: HttpWarn;
}

/** Sends notifications of the stateless revision, each by a POST of its own. */
export interface HttpNotifier {
  /** Resolves when the server has taken it, or will not. Throws, having sent nothing, when it is no JSON. */
  notify(notification: Notification, headers: Headers): Promise<void>;
  close(): void;
}

export function createHttpNotifier({ endpoint, deadlines, timeoutMs, warn }: HttpNotifierOptions): HttpNotifier {
  const open = new Set<LazyAbort>();

  /** Says why the server did not take it, if it did not. */
  const send = async (body: string, headers: Headers, abort: LazyAbort): Promise<string | undefined> => {
    try {
      const response = await endpoint.send({ method: "POST", headers, body }, abort);
      response.discard();
      return isOk(response.status) ? undefined : statusText(response.status);
    } catch (error) {
      return error instanceof Error ? error.message : "the connection failed";
    }
  };

  const notify = async (method: string, body: string, headers: Headers): Promise<void> => {
    const abort = new LazyAbort();
    const deadline = deadlines.start({ idleMs: 0, totalMs: timeoutMs }, () => abort.abort("timeout"));
    open.add(abort);
    const why = await send(body, headers, abort);
    deadline.stop();
    // Who has closed the connection knows.
    if (!open.delete(abort) || why === undefined) return;
    warn({ kind: "not-honoured", message: `the server did not take ${method}: ${why}` });
  };

  return {
    notify: (notification, headers) => notify(notification.method, encodeMessage(notification), headers),
    close() {
      const aborts = [...open];
      open.clear();
      for (const abort of aborts) abort.abort("closed");
    },
  };
}
