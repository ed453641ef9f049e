import type { JsonObject } from "../json/json.ts";
import type { Method } from "../protocol/methods.ts";
import type { CallOf, OutcomeOf } from "../protocol/service.ts";
import type { ServerSlot } from "./server-slot.ts";

/** What a server is sent for a call, as plain data: by it another process sends the same. Names and ids are those of the server. */
export type SlotRequest =
  | { readonly kind: "tool"; readonly name: string }
  | { readonly kind: "request"; readonly params: JsonObject }
  | { readonly kind: "task"; readonly params: JsonObject };

/** Sends a call through a slot of its server. */
export type SendBySlot<M extends Method> = (slot: ServerSlot, call: CallOf<M>) => Promise<OutcomeOf<M>>;

/** Makes the sender of a request that another process has forwarded. */
export type SendRequest = (shared: ServerSlot, call: CallOf, request: SlotRequest) => SendBySlot<Method>;
