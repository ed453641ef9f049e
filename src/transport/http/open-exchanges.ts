import { rpcCodes } from "../../jsonrpc/message.ts";
import type { Clock } from "../../std/clock.ts";
import { LinkedSet } from "../../std/linked-set.ts";
import type { HttpExchange } from "./http-exchange.ts";

/** The exchanges of one door that are not over yet. */
export interface OpenExchanges {
  add(exchange: HttpExchange): void;
  delete(exchange: HttpExchange): void;
  /** Resolves when all are over. Those that take too long are ended with an error. */
  drain(): Promise<void>;
}

export function createOpenExchanges({ clock, drainMs }: { clock: Clock; drainMs: number }): OpenExchanges {
  const open = new LinkedSet<HttpExchange>();
  let drained = (): void => {};

  const endAll = (): void => {
    const exchanges = open.toArray();
    for (const { abort } of exchanges) abort.abort("the server is closing");
    for (const exchange of exchanges) exchange.fail({ code: rpcCodes.internal, message: "the server is closing" });
  };

  return {
    add: (exchange) => open.add(exchange),
    delete(exchange) {
      open.delete(exchange);
      if (open.size === 0) drained();
    },
    async drain() {
      if (open.size === 0) return;
      const stop = clock.after(drainMs, endAll);
      await new Promise<void>((resolve) => {
        drained = resolve;
      });
      stop();
    },
  };
}
