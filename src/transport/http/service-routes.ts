import type { RoutedService } from "../../protocol/authenticator.ts";
import type { Service } from "../../protocol/service.ts";
import { type AuthRoutes, createAuthRoutes } from "./auth-routes.ts";
import type { Guard } from "./authentication.ts";
import type { HttpHead } from "./http-message.ts";

type Tell = (message: string, kind: "route-failed") => void;

/** The pages that a service has for browsers, beside the endpoint. */
export function serviceRoutes(service: Service, hosts: readonly string[] | "any", tell: Tell): AuthRoutes | undefined {
  const { routes } = service as Service & RoutedService;
  return routes && createAuthRoutes({ routes, hosts, warn: (message) => tell(message, "route-failed") });
}

/** The routes of both. Those of the first win. */
export function joinRoutes(one: AuthRoutes | undefined, other: AuthRoutes | undefined): AuthRoutes | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const of = (head: HttpHead): AuthRoutes => (one.has(head) ? one : other);
  return {
    has: (head) => one.has(head) || other.has(head),
    admit: (head) => of(head).admit(head),
    handle: (head, ...rest) => of(head).handle(head, ...rest),
  };
}

/** Whoever opens a page of the service is found out by the page. */
export function identifyBeside({ identify }: Guard, routes: AuthRoutes | undefined): Guard["identify"] {
  if (routes === undefined) return identify;
  return async (head, cors, share) => (routes.has(head) ? { ok: true, head } : identify(head, cors, share));
}
