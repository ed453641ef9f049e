import type { ClientIdentity } from "./client-auth.ts";
import type { Grant, GrantContext } from "./grant.ts";
import type { TokenAnswer } from "./token-request.ts";

/** A way to a token that no user takes part in. */
export interface MachineGrant {
  /** Who asks. Undefined when what is shown says it. */
  readonly client: ClientIdentity | undefined;
  readonly issuer?: string | undefined;
  ask(context: GrantContext): Promise<TokenAnswer>;
}

export function machineGrant({ client, issuer, ask }: MachineGrant): Grant {
  return {
    silent: true,
    issuer,
    bound: true,
    async obtain(context) {
      return { answer: await ask(context), clientId: client?.clientId ?? "", scopes: context.scopes };
    },
    clientFor: async () => client,
  };
}

/** What every request for a token of a resource says. */
export function commonParameters({ discovery, scopes }: GrantContext): Readonly<Record<string, string>> {
  return { resource: discovery.resource, ...(scopes.length > 0 && { scope: scopes.join(" ") }) };
}
