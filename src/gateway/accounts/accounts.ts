import type { Clock } from "../../std/clock.ts";
import type { AccountChanges } from "./account-changes.ts";
import type { AccountKey, AccountRecord, AccountRecords } from "./account-records.ts";
import type { AccountEvent } from "./vault-options.ts";

/** The accounts of users at servers, as they stand. */
export interface Accounts {
  /** What is known of an account at this URL. */
  find(key: AccountKey, url: string): Promise<AccountRecord | undefined>;
  isConnected(key: AccountKey, url: string): Promise<boolean>;
  /** Keeps an account that its user has just connected. */
  connect(key: AccountKey, record: Omit<AccountRecord, "state" | "at">): Promise<void>;
  /** The server does not take what is kept any more; or, with scopes, does not take it for everything. */
  expire(key: AccountKey, wanted?: readonly string[]): Promise<void>;
  /** Forgets what is known of an account, except its tokens. */
  forget(key: AccountKey): Promise<void>;
  /** The server of a user that has expired here, or wanted more scopes, after a turn. */
  expiredSince(turn: number, principal: string): string | undefined;
  /** A number that grows whenever an account expires here. */
  readonly turn: number;
  /** Waits until an account is connected, with all that is wanted. False when the time is up or the signal aborts. */
  waitFor(key: AccountKey, url: string, options: WaitOptions): Promise<boolean>;
}

interface WaitOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

interface AccountsOptions {
  readonly records: AccountRecords;
  readonly changes: AccountChanges;
  readonly clock: Clock;
  /** Milliseconds of the time of day. */
  now(): number;
  onEvent(event: AccountEvent): void;
}

/** How many connected accounts, and how many that have expired, a process remembers. */
const MAX_KNOWN = 10_000;
/** How often the store is asked while somebody waits: a change is told sooner, unless that is lost. */
const POLL_MS = 2_000;

export function createAccounts({ records, changes, clock, now, onEvent }: AccountsOptions): Accounts {
  /** Accounts that are connected, as far as this process has heard. */
  const known = new Set<string>();
  /** When which accounts have expired, by user and server. */
  const expired = new Map<string, { readonly key: AccountKey; readonly turn: number }>();
  let turn = 0;
  /** How many changes were heard of: what was read before one may not hold after it. */
  let heard = 0;

  changes.hear((change) => {
    heard++;
    if (change.kind === "unknown") known.clear();
    else forgetKnown(change);
  });
  const forgetKnown = (key: AccountKey): void => {
    for (const name of known) if (name.startsWith(`${nameOf(key)}\n`)) known.delete(name);
  };

  const find: Accounts["find"] = async (key, url) => {
    const found = await records.get("account", await records.idOf(key));
    return found?.value.url === url ? found.value : undefined;
  };

  const put = async (key: AccountKey, record: AccountRecord): Promise<void> => {
    await records.put("account", await records.idOf(key), record, {});
  };

  const isComplete = async (key: AccountKey, url: string): Promise<boolean> => {
    const record = await find(key, url);
    return record?.state === "connected" && record.wanted === undefined;
  };

  return {
    find,
    async isConnected(key, url) {
      const name = `${nameOf(key)}\n${url}`;
      if (known.has(name)) return true;
      await changes.ready();
      const before = heard;
      if ((await find(key, url))?.state !== "connected") return false;
      if (heard !== before) return true;
      if (known.size >= MAX_KNOWN) known.clear();
      known.add(name);
      return true;
    },
    async connect(key, record) {
      await put(key, { ...record, state: "connected", at: now() });
      expired.delete(nameOf(key));
      onEvent({ kind: "connected", ...toKey(key) });
      await changes.tell({ kind: "connected", ...toKey(key) });
    },
    async expire(key, wanted) {
      if (expired.size >= MAX_KNOWN) expired.clear();
      expired.set(nameOf(key), { key, turn: ++turn });
      const found = await records.get("account", await records.idOf(key));
      if (found === undefined || found.value.state === "expired") return;
      const state = wanted === undefined ? "expired" : "connected";
      const record = { ...found.value, state, at: now(), ...(wanted && { wanted }) } as const;
      const { version } = found;
      // Somebody else has connected it again meanwhile.
      if (!(await records.put("account", await records.idOf(key), record, { version }))) return;
      if (state === "connected") return;
      onEvent({ kind: "expired", ...toKey(key) });
      await changes.tell({ kind: "expired", ...toKey(key) });
    },
    async forget(key) {
      await records.delete("account", await records.idOf(key));
      onEvent({ kind: "disconnected", ...toKey(key) });
      await changes.tell({ kind: "disconnected", ...toKey(key) });
    },
    expiredSince: (since, principal) =>
      [...expired.values()].find((one) => one.turn > since && one.key.principal === principal)?.key.server,
    get turn() {
      return turn;
    },
    async waitFor(key, url, { timeoutMs, signal }) {
      const end = clock.now() + timeoutMs;
      for (;;) {
        const next = nextChange(key, { signal, changes, clock, timeoutMs: Math.min(POLL_MS, end - clock.now()) });
        if (await isComplete(key, url)) {
          next.stop();
          return true;
        }
        await next.happened;
        if (signal.aborted || clock.now() >= end) return isComplete(key, url);
      }
    },
  };
}

interface NextChangeOptions extends WaitOptions {
  readonly changes: AccountChanges;
  readonly clock: Clock;
}

/** Waits for something to happen to an account, or for some time. */
function nextChange(key: AccountKey, { signal, changes, clock, timeoutMs }: NextChangeOptions) {
  let end = (): void => {};
  const happened = new Promise<void>((resolve) => {
    end = resolve;
  });
  const stop = (): void => {
    stopHearing();
    stopTimer();
    signal.removeEventListener("abort", stop);
    release?.();
    end();
  };
  const release = clock.hold?.();
  const stopHearing = changes.hear((change) => {
    if (change.kind === "unknown" || nameOf(change) === nameOf(key)) stop();
  });
  const stopTimer = clock.after(Math.max(0, timeoutMs), stop);
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  return { happened, stop };
}

function nameOf({ principal, server }: AccountKey): string {
  return JSON.stringify([principal, server]);
}

function toKey({ principal, server }: AccountKey): AccountKey {
  return { principal, server };
}
