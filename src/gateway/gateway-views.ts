import type { ViewParts } from "../host/host-services.ts";
import { McpError } from "../protocol/errors.ts";
import type { Implementation } from "../protocol/peer.ts";
import { type Service, type ServiceViews, withMiddleware } from "../protocol/service.ts";
import type { SessionHooks } from "../protocol/session.ts";
import { quote } from "../std/text.ts";
import type { Store } from "../store/store.ts";
import { type GatewayView, serverView, toHostView } from "./gateway-view.ts";
import { toolSearch, toSearch } from "./tool-search.ts";

interface GatewayViewsOptions {
  /** Without any there is one for each server. */
  readonly given: Readonly<Record<string, GatewayView>> | undefined;
  /** What the gateway says of itself. */
  readonly info: Implementation;
  /** The part of a view of what processes share. */
  storeOf(view: string): Promise<Store>;
  readonly sessions: () => Promise<SessionHooks>;
  /** Puts what asks for accounts around a view. `only` is its server, where it has one alone. */
  gate(service: Service, only: string | undefined): Service;
}

interface GatewayViews {
  readonly views: ServiceViews;
  /** From now on views can be made. */
  open(parts: ViewParts): void;
}

/** The views of a gateway, each a service that is made when it is first asked for. */
export function createGatewayViews(options: GatewayViewsOptions): GatewayViews {
  const { info, storeOf, sessions, gate } = options;
  const given = options.given && new Map(Object.entries(options.given));
  const made = new Map<string, Service>();
  let host: ViewParts | undefined;

  const has = (name: string): boolean => host !== undefined && (given ?? host.slots).has(name);
  const names = (): readonly string[] => [...(given ?? host?.slots ?? new Map<string, never>()).keys()];

  const make = (name: string, { create, slots }: ViewParts): Service => {
    const view = given?.get(name);
    const hostView = view === undefined ? serverView(name) : toHostView(name, view);
    const service = withSearch(gate(create(hostView), hostView.only), view, () =>
      [...slots.keys()].filter(hostView.hasServer),
    );
    const own = { ...info, name: `${info.name}/${name}` };
    return Object.assign(service, { info: own, store: () => storeOf(name), sessions, changesBySession: true });
  };

  const get = (name: string): Service => {
    if (host === undefined || !has(name)) throw unknownView(name, names());
    const service = made.get(name) ?? make(name, host);
    made.set(name, service);
    return service;
  };

  return {
    views: toServiceViews({ has, get, names }),
    open(parts) {
      host = parts;
    },
  };
}

function toServiceViews(views: Omit<ServiceViews, "around">): ServiceViews {
  return {
    ...views,
    around(wrap) {
      const wrapped = new WeakMap<Service, Service>();
      const get = (name: string): Service => {
        const view = views.get(name);
        const known = wrapped.get(view) ?? wrap(view);
        wrapped.set(view, known);
        return known;
      };
      return toServiceViews({ ...views, get });
    },
  };
}

function withSearch(service: Service, view: GatewayView | undefined, servers: () => readonly string[]): Service {
  const search = toSearch(view?.search);
  return search === undefined ? service : withMiddleware(service, toolSearch(search, servers));
}

function unknownView(name: string, names: readonly string[]): McpError {
  const message = `there is no view ${quote(name)}; there are: ${names.join(", ") || "none"}`;
  return new McpError("invalid-params", message, { data: { reason: "unknown-view", name: name.slice(0, 128) } });
}
