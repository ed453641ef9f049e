import type { JsonObject } from "../json/json.ts";
import { LazyAbort } from "../std/lazy-abort.ts";
import type { Sender } from "./channel.ts";
import type { IncomingRequest } from "./inbound.ts";
import type { Notification, Request } from "./message.ts";

/** Presents a notification of the peer as an {@link IncomingRequest}, for handlers of requests. Responses are discarded. */
export class IncomingNotification implements IncomingRequest {
  readonly request: Request;
  readonly abort: LazyAbort = new LazyAbort();
  readonly via: Sender;

  constructor({ method, params }: Notification, via: Sender) {
    this.request = { kind: "request", id: "", method, params };
    this.via = via;
  }

  succeed(): undefined {}

  fail(): undefined {}

  refuse(): undefined {}

  drop(): undefined {}

  notify(method: string, params: JsonObject): Promise<void> | undefined {
    return this.via.send({ kind: "notification", method, params });
  }
}
