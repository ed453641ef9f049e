import { observeServing } from "../protocol/observe.ts";
import type { Service } from "../protocol/service.ts";
import { telemetryOf } from "../protocol/telemetry.ts";
import type { Environment } from "./environment.ts";
import { eventTelemetry } from "./events.ts";
import type { ServerOptions } from "./options.ts";

/** A server with the telemetry and events of its options. Loaded only with such options. */
export function observedService(
  service: Service,
  { telemetry, onEvent }: Pick<ServerOptions, "telemetry" | "onEvent">,
  { now, clock }: Pick<Environment, "now" | "clock">,
): Service {
  const events = onEvent === undefined ? [] : [eventTelemetry(onEvent, now)];
  return observeServing(service, { telemetry: [...telemetryOf(telemetry), ...events], clock });
}
