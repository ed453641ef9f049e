import { bare, lazyService, type Service } from "../protocol/service.ts";
import { type Telemetry, telemetryOf } from "../protocol/telemetry.ts";
import type { Clock } from "../std/clock.ts";
import { createCallSender } from "./call-sender.ts";
import { createCallerShares } from "./caller-shares.ts";
import type { Routes, ToolCalls } from "./calls.ts";
import type { Delivery } from "./delivery.ts";
import type { HostBudgets } from "./host-budgets.ts";
import { createHostService, type HostService, type HostServiceOptions } from "./host-service.ts";
import { type HostView, type ServerSlots, slotsIn, wholeHost } from "./host-view.ts";
import type { CallerListings } from "./list-cache.ts";
import { createSlotSender, type SlotSender } from "./slot-sender.ts";
import { createTaskCalls } from "./task-calls.ts";

/** A host as a server, as a whole and in views. */
export interface HostServices {
  readonly whole: Service;
  /** Makes the part of the host that is in a view. What callers may have is counted for all of them together. */
  readonly view: CreateView;
  /** Sends what another process has been asked for. */
  readonly send: SlotSender["by"];
  /** Forgets where names lead: something has changed. */
  forget(): void;
}

export type CreateView = (view: HostView) => Service;

/** What views of a host are made of. */
export interface ViewParts {
  readonly create: CreateView;
  readonly slots: ServerSlots;
}

interface HostServicesOptions
  extends Omit<HostServiceOptions, "callers" | "view" | "listings" | "sender" | "callSender"> {
  readonly toolCalls: ToolCalls;
  readonly delivery: Delivery;
  readonly budgets?: HostBudgets | undefined;
  readonly telemetry?: Telemetry | readonly Telemetry[] | undefined;
  readonly clock: Clock;
  /** Where names lead that the host itself calls. */
  readonly routes: Pick<Routes, "forget">;
  /** The lists of some servers. */
  listingsOf(slots: ServerSlots): CallerListings;
}

export function createHostServices(options: HostServicesOptions): HostServices {
  const { slots, routes, budgets, clock, tell, listingsOf } = options;
  const services: HostService[] = [];
  const callers = createCallerShares({
    budgets,
    clock,
    askAboutTask: (call) => whole.service(call),
    onLimit: (reached) => tell({ kind: "limit-reached", ...reached }),
  });
  const callSender = createCallSender({ ...options, callers });
  const { deliver } = callSender;
  const tasks = createTaskCalls(clock, options.handles, callers);
  const sender = createSlotSender({ ...options, tasks, deliver });
  const create = (view: HostView): HostService => {
    const its = slotsIn(slots, view);
    const created = createHostService({
      ...options,
      slots: its,
      listings: listingsOf(its),
      callers,
      callSender,
      sender,
      view,
    });
    services.push(created);
    return created;
  };
  const whole = create(wholeHost);

  return {
    whole: observed(whole.service, options),
    view: (view) => observed(create(view).service, options),
    send: sender.by,
    forget() {
      routes.forget();
      for (const { forget } of services) forget();
    },
  };
}

/** Lets telemetry hear of the calls of clients. Those to servers are heard of where they are sent. */
function observed(service: Service, { telemetry, clock }: HostServicesOptions): Service {
  if (telemetry === undefined) return service;
  const load = async (): Promise<Service> => {
    const { observeServing } = await import("../protocol/observe.ts");
    return observeServing(service, { telemetry: telemetryOf(telemetry), clock });
  };
  return Object.assign(lazyService(load), { [bare]: service });
}
