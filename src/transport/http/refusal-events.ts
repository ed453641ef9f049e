import type { Shortage } from "../../protocol/budget.ts";
import type { ErrorCode } from "../../protocol/errors.ts";
import type { RefusedEvent, ServerEvent } from "../../protocol/server-event.ts";
import type { Service } from "../../protocol/service.ts";
import type { HttpHead } from "./http-message.ts";

/** Reports requests that did not become calls. */
export interface RefusalEvents {
  /** A request was answered with a status of {@link codes}, or with another one for a reason that is given. */
  answered(head: HttpHead, status: number, code?: ErrorCode): void;
  /** A share had no room for what a request needed. */
  short(shortage: Shortage): void;
}

/** Why requests are turned down by their head, by the status. Others are mistakes of clients, and no refusals. */
const codes: ReadonlyMap<number, ErrorCode> = new Map([
  [401, "unauthorized"],
  [403, "forbidden"],
  [413, "limit-reached"],
]);

/** Undefined without a listener: neither the option, nor that of the server. */
export function createRefusalEvents(
  service: Service & { readonly onEvent?: ((event: ServerEvent) => void) | undefined },
  { onEvent = service.onEvent }: { readonly onEvent?: ((event: ServerEvent) => void) | undefined },
): RefusalEvents | undefined {
  if (onEvent === undefined) return undefined;

  const tell = (facts: Omit<RefusedEvent, "kind" | "time">): void => {
    try {
      onEvent({ kind: "refused", time: new Date().toISOString(), ...facts });
    } catch (error) {
      console.error("plugbay: onEvent threw:", error);
    }
  };

  return {
    answered(head, status, code = codes.get(status)) {
      if (code !== undefined) tell({ code, status, address: head.remoteAddress });
    },
    short: ({ scope, owner }) =>
      tell({ code: "limit-reached", status: scope === "process" ? 503 : 429, ...callerOf(owner) }),
  };
}

/** The owner of a share. */
function callerOf(owner: string): Pick<RefusedEvent, "principal" | "address"> {
  const [, kind, name] = /^(principal|address) (.+)$/s.exec(owner) ?? [];
  return kind === undefined ? {} : { [kind]: name };
}
