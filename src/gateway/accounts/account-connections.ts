import type { OwnConnections } from "../../host/own-connections.ts";
import { McpError } from "../../protocol/errors.ts";
import type { CallOf } from "../../protocol/service.ts";
import type { AccountChanges } from "./account-changes.ts";
import type { Accounts } from "./accounts.ts";

/** Makes the connections of a user to a server anew; of all users, where none is named. */
export interface Reconnecting {
  reconnect(server: string, principal?: string): Promise<void>;
}

interface AccountConnectionsOptions {
  readonly accounts: Accounts;
  readonly changes: AccountChanges;
  /** Servers that users connect accounts of. */
  readonly servers: ReadonlySet<string>;
  urlOf(server: string): string | undefined;
}

/** Connections of callers, where each has accounts: who has none has no lists of that server, and hears when it has one. */
export function withAccounts<C extends OwnConnections & Reconnecting>(own: C, options: AccountConnectionsOptions): C {
  const { accounts, changes, servers, urlOf } = options;

  const isConnected = async (server: string, { peer: { auth } }: CallOf): Promise<boolean> =>
    auth !== undefined && accounts.isConnected({ principal: auth.principal, server }, urlOf(server) ?? "");

  changes.hear((change) => {
    if (change.kind === "expired") return;
    const all = change.kind === "unknown" ? servers : [change.server];
    for (const server of all) void own.reconnect(server, change.kind === "unknown" ? undefined : change.principal);
  });

  return {
    ...own,
    async listsOf(shared, caller) {
      if (servers.has(shared.name) && !(await isConnected(shared.name, caller))) throw accountNeeded(shared.name);
      return own.listsOf(shared, caller);
    },
    hearChanges(caller, hear, signal) {
      own.hearChanges(caller, hear, signal);
      if (signal.aborted) return;
      const stop = changes.hear((change) => {
        if (change.kind === "unknown" || change.principal !== caller.peer.auth?.principal) return;
        for (const kind of ["tools", "prompts", "resources"] as const) hear({ kind, server: change.server });
      });
      signal.addEventListener("abort", stop, { once: true });
    },
  };
}

function accountNeeded(server: string): McpError {
  const message = `server ${server} is used with the account of each user, and this user has connected none`;
  return new McpError("unauthorized", message, { data: { reason: "account-needed", server } });
}
