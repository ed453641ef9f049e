import { toAlias } from "../../bridge/alias.ts";
import { qualify } from "../../host/host-tool.ts";
import { asJson, isObject } from "../../json/json.ts";
import { callerMissing, type Failure, McpError, toFailure } from "../../protocol/errors.ts";
import { type Method, methodRow } from "../../protocol/methods.ts";
import { isLegacy } from "../../protocol/revision.ts";
import { type CallOf, type OutcomeOf, type Service, withCall } from "../../protocol/service.ts";
import type { QuestionRun, QuestionRuns } from "../../server/question-runs.ts";
import type { AccountKey } from "./account-records.ts";
import type { Accounts } from "./accounts.ts";

interface AccountGateOptions {
  readonly accounts: Accounts;
  readonly runs: QuestionRuns;
  /** Servers that users connect accounts of. */
  readonly servers: readonly string[];
  /** The server of all calls, where there is one alone. Else names tell. */
  readonly only?: string | undefined;
  /** Where a server is. Undefined when there is none of the name now. */
  urlOf(server: string): string | undefined;
  /** A link for the user of a call. */
  linkFor(call: CallOf, key: AccountKey): Promise<string>;
  readonly connectTimeoutMs: number;
  readonly linkTtlMs: number;
}

/** How often a caller that is asked by outcomes is asked to open a link, for one call. */
const MAX_ROUNDS = 10;

/**
 * Has users connect the accounts that their calls need: before a call whose server lacks one, and after one whose server
 * took it no more. Then the call goes on. Callers that cannot be asked get an error that names the link.
 */
export function gateByAccounts(next: Service, options: AccountGateOptions): Service {
  const { accounts, runs, urlOf } = options;
  const serverOf = createServerFinder(options);

  /** Asks for the account, then makes the call as if it had just come. */
  const connectFirst = async <M extends Method>(call: CallOf<M>, wanted: string | undefined): Promise<OutcomeOf<M>> => {
    const outcome = await runs.run(call, async (run): Promise<OutcomeOf<M>> => {
      const server = await run.step("server", () => wanted ?? "");
      await connectAccount(run, keyOf(call, server), options);
      return { kind: "complete", result: {} } as OutcomeOf<M>;
    });
    return outcome.kind === "complete" ? next(withCall(call, { state: undefined, answers: undefined })) : outcome;
  };

  /** The server of a call whose account has to be connected before. */
  const lacking = async (call: CallOf): Promise<string | undefined> => {
    const server = serverOf(call);
    const url = server && urlOf(server);
    if (server === undefined || url === undefined) return undefined;
    return (await accounts.isConnected(keyOf(call, server), url)) ? undefined : server;
  };

  const serve = async <M extends Method>(call: CallOf<M>): Promise<OutcomeOf<M>> => {
    if (methodRow(call.method).asks !== true) return next(call);
    if (call.state !== undefined && (await runs.runOf(call.state)) !== undefined)
      return connectFirst(call, serverOf(call));
    const server = await lacking(call);
    if (server !== undefined) return connectFirst(call, server);
    const { turn } = accounts;
    const outcome = await next(call);
    const { auth } = call.peer;
    const expired = outcome.kind === "failed" && auth ? accounts.expiredSince(turn, auth.principal) : undefined;
    const isMine = expired !== undefined && (serverOf(call) ?? expired) === expired;
    return isMine ? connectFirst(call, expired) : outcome;
  };

  return async (call) => {
    try {
      return await serve(call);
    } catch (error) {
      const isTold = error instanceof McpError;
      const failure: Failure = isTold ? toFailure(error) : { code: "internal", message: `${call.method} failed` };
      return { kind: "failed", failure, cause: error };
    }
  };
}

function keyOf({ peer: { auth } }: CallOf, server: string): AccountKey {
  if (auth !== undefined) return { principal: auth.principal, server };
  throw callerMissing(`server ${server} is used with the account of each user: sign in to the gateway first`);
}

/** Finds the server that a call names. Resources have URIs of their own, which do not tell. */
function createServerFinder({
  servers,
  only,
}: Pick<AccountGateOptions, "servers" | "only">): (call: CallOf) => string | undefined {
  if (only !== undefined) return () => (servers.includes(only) ? only : undefined);
  const starts = servers.flatMap((server) => {
    const alias = toAlias(qualify(server, "x"));
    return [
      { server, start: qualify(server, "") },
      ...(alias.endsWith("__x") ? [{ server, start: alias.slice(0, -1) }] : []),
    ];
  });
  return ({ params }) => {
    const name = isObject(params as object) && "name" in params ? params.name : undefined;
    return typeof name === "string" ? starts.find(({ start }) => name.startsWith(start))?.server : undefined;
  };
}

/** What the caller is asked, which stays the same when the work is done again elsewhere. */
interface Page {
  readonly url: string;
  readonly elicitationId: string;
}

/** Asks the caller to have its user connect an account, until that is done. */
async function connectAccount(run: QuestionRun, key: AccountKey, options: AccountGateOptions): Promise<void> {
  const { accounts, urlOf, linkFor, connectTimeoutMs, linkTtlMs } = options;
  const { server } = key;
  const url = urlOf(server) ?? "";
  const message = `Connect your account at ${server}`;
  for (let round = 1; round <= MAX_ROUNDS; round++) {
    const page = (await run.step(`page ${round}`, async () => {
      return { url: await linkFor(run.call, key), elicitationId: crypto.randomUUID() };
    })) as Page;
    if (run.call.peer.capabilities.elicitation?.url === undefined) throw notAskable(message, server, page);
    const shown = isLegacy(run.call.peer.revision) ? page : { url: page.url };
    const params = { mode: "url", message, ...shown } as const;
    const { action } = (await run.ask({ method: "elicitation/create", params }, `account ${round}`)) as {
      action?: unknown;
    };
    if (action !== "accept") throw new McpError("declined", `the user did not connect an account at ${server}`);
    // Who is asked while the call waits is not asked again: the page is open.
    const timeoutMs = run.call.ask === undefined ? connectTimeoutMs : linkTtlMs;
    if (await accounts.waitFor(key, url, { timeoutMs, signal: run.signal })) {
      if ("elicitationId" in shown)
        await run.notify("notifications/elicitation/complete", { elicitationId: shown.elicitationId });
      return;
    }
    run.signal.throwIfAborted();
  }
  throw new McpError("timeout", `nobody has connected an account at ${server}; call again to get another link`);
}

function notAskable(message: string, server: string, page: Page): McpError {
  const text = `server ${server} needs an account of this user: open ${page.url} in a browser, connect it, then call again`;
  const elicitations = [{ mode: "url", message, ...page }];
  return new McpError("url-elicitation-required", text, { data: asJson({ elicitations }) });
}
