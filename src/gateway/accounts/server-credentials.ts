import { canonicalUrl } from "../../auth/client/discovery.ts";
import { readTarget } from "../../connect/target.ts";
import type { ServerSlot } from "../../host/server-slot.ts";
import type { HostConnectOptions, ServerSpec } from "../../host/spec.ts";
import type { Authorizer } from "../../protocol/authorizer.ts";
import type { CallOf } from "../../protocol/service.ts";
import type { Clock } from "../../std/clock.ts";
import { connectionOwnerOf } from "../connection-owner.ts";
import { type AccountCredentials, exchangeAuthorizer, gatewayAuthorizer } from "./account-credentials.ts";
import type { SubjectTokens } from "./subject-tokens.ts";
import type { ServerCredentials } from "./vault-options.ts";

/** What servers of a gateway are shown, by the kinds of their credentials. */
export interface ServerCredentialsSource {
  /** A server as the vault has it: connected to when a caller needs it, or with credentials of the gateway. */
  shape(name: string, spec: ServerSpec): ServerSpec;
  /** What is different about connecting for a caller. Undefined where nothing is. */
  credentialsOf(slot: ServerSlot, caller: CallOf): HostConnectOptions | undefined;
}

interface ServerCredentialsOptions {
  readonly servers: ReadonlyMap<string, ServerCredentials>;
  /** Gets the URL of every server that has credentials. */
  readonly urls: Map<string, string>;
  readonly credentials: AccountCredentials;
  readonly subjects: SubjectTokens;
  readonly clock: Clock;
}

export function createServerCredentials(options: ServerCredentialsOptions): ServerCredentialsSource {
  const { servers, urls, credentials, subjects, clock } = options;
  const gatewayAuth = new Map<string, Authorizer>();

  const authFor = (server: string, url: string, caller: CallOf): Authorizer | undefined => {
    const [given, principal] = [servers.get(server), caller.peer.auth?.principal];
    if (principal === undefined) return undefined;
    switch (given?.kind) {
      case "user":
        return credentials.ofUser({ principal, server }, url, given);
      case "key":
        return credentials.ofKey({ principal, server }, url, given);
      case "exchange":
        return exchangeAuthorizer(given, clock, subjects.tokenOf(connectionOwnerOf(caller).key));
      default:
        return undefined;
    }
  };

  return {
    shape(name, spec) {
      const given = servers.get(name);
      if (given === undefined || given.kind === "none" || spec.disabled !== undefined) return spec;
      const target = readTarget(spec.target);
      if (target.kind !== "url") return { ...spec, disabled: noUrl(name) };
      urls.set(name, canonicalUrl(target.url));
      if (given.kind !== "client") return { ...spec, connect: "lazy" };
      const auth = gatewayAuth.get(name) ?? gatewayAuthorizer(given, clock);
      gatewayAuth.set(name, auth);
      return { ...spec, connectOptions: { ...spec.connectOptions, auth } };
    },
    credentialsOf({ name, spec }, caller) {
      const target = readTarget(spec.target);
      const auth = target.kind === "url" ? authFor(name, canonicalUrl(target.url), caller) : undefined;
      return auth && { auth };
    },
  };
}

function noUrl(name: string): NonNullable<ServerSpec["disabled"]> {
  const message = `server ${name} is a program: credentials of callers are for servers at URLs; leave it out of credentials`;
  return { code: "invalid-config", message };
}
