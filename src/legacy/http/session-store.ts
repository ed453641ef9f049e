import type { Id } from "../../jsonrpc/message.ts";
import type { LimitReached } from "../../protocol/limit-error.ts";
import type { Auth } from "../../protocol/peer.ts";
import { bytesOf } from "../../protocol/shares.ts";
import { type Awaitable, allOf, chain } from "../../std/awaitable.ts";
import { toBase64Url } from "../../std/base64.ts";
import type { NamedValue, Store, StoredValue } from "../../store/store.ts";
import type { BegunTask } from "../session/follow-task.ts";
import type { SessionRecord } from "../session/server-session.ts";
import { createSessionShares, type SessionAmounts, type SessionMax, shortName } from "./session-shares.ts";

/** What all processes know of a session. */
export interface KeptSession extends SessionRecord {
  /** The position of the last change before the client was ready: it hears of what followed. */
  readonly since: number;
  /** Whose share it is taken of. */
  readonly owner?: string | undefined;
}

/** What there is to keep of a session that was just opened. Claims may say more of somebody than others need to know. */
export function toKept(
  { peer, capabilities, ready, logLevel }: SessionRecord,
  auth: Auth | undefined,
  owner: string | undefined,
): KeptSession {
  const agreed = { peer, capabilities, ready, logLevel, since: 0 };
  const known = owner === undefined ? agreed : { ...agreed, owner };
  if (auth === undefined) return known;
  const { principal, scopes } = auth;
  return { ...known, peer: { ...peer, auth: scopes === undefined ? { principal } : { principal, scopes } } };
}

/** A session, and the text of it that is kept. */
interface WrittenSession {
  readonly session: KeptSession;
  readonly text: string;
}

/** How much memory the record of a session takes: its text, and what was read of it. */
export function sessionBytes(session: KeptSession): number {
  return 2 * bytesOf(JSON.stringify(session));
}

/** Of how many kinds of sessions one object and one text serve all that are equal, and how long such a text may be. */
const KINDS = 64;
const MAX_KIND_CHARS = 8_192;

const kinds = new Map<string, WrittenSession>();

/** Writes a session down. Clients of one kind have equal sessions: these share what is held of them. */
function write(session: KeptSession): WrittenSession {
  const text = JSON.stringify(session);
  const known = kinds.get(text);
  if (known !== undefined) return known;
  const written = { session, text };
  if (text.length > MAX_KIND_CHARS) return written;
  kinds.set(text, written);
  const [oldest] = kinds.keys();
  if (kinds.size > KINDS && oldest !== undefined) kinds.delete(oldest);
  return written;
}

/** A session as it was read. */
export interface StoredSession {
  readonly session: KeptSession;
  readonly version: string;
  /** Its name in the store. One that is made anew has to be hashed anew. */
  readonly name: string;
}

/**
 * Sessions in a store. Each is a value that expires without use; its subscriptions are a value of their own, so that
 * the first stays small.
 */
export interface SessionStore {
  /** Keeps a session, unless its owner has too much: then nothing is kept. */
  open(id: string, session: KeptSession): Awaitable<StoredSession | LimitReached>;
  /** `known` saves reading what has not changed since. */
  find(id: string, known?: StoredSession): Awaitable<StoredSession | undefined>;
  /** Changes what is there now. Undefined when there is no such session. */
  change(
    id: string,
    change: (session: KeptSession) => KeptSession,
    known?: StoredSession,
  ): Awaitable<StoredSession | undefined>;
  /** Gives it another time to live. False when there is no such session. */
  touch(id: string, session: KeptSession): Awaitable<boolean>;
  /** False when there was none. */
  delete(id: string): Awaitable<boolean>;
  /** The resources that a session subscribed to. */
  uris(id: string): Awaitable<readonly string[]>;
  /** False when it had subscribed to that. With its owner, it is refused when the owner has too much. */
  subscribe(id: string, uri: string, owner?: string): Awaitable<boolean | LimitReached>;
  /** False when it had not subscribed to that. */
  unsubscribe(id: string, uri: string, owner?: string): Awaitable<boolean>;
  /** The position of the last change of the service. */
  lastChange(): Awaitable<number>;
}

/** How long a client has to say that it is ready. */
export const INITIALIZED_TIMEOUT_MS = 60_000;
/** Where servers keep what changed. */
const CHANGES = "changes";

/** The stream of what belongs to no call, of responses that went out whole; the value of who sends notifications. */
export const NO_CALL_STREAM = "aside";
export const WHOLE_RESPONSES = "whole";
export const NOTIFICATIONS = "notifications";
/** The group of what a session subscribed to: a value for each, so that one more does not write the others again. */
const URIS = "uris";
const WAITS = "waits";

/** The name of a session in the store. */
function sessionName(id: string): string {
  return `session:${id}`;
}

/** The name of something that belongs to a session. No event id of one session names anything of another. */
export function partName(id: string, part: string): string {
  return `session:${id}/${part}`;
}

/** The name of what a session subscribed to. */
function uriName(id: string, uri: string): Awaitable<string> {
  return shortName(partName(id, "uri"), uri);
}

/** What a subscription takes besides its URI. */
const SUBSCRIPTION_BYTES = 1_024;

/** How much memory a subscription takes. */
export function subscriptionBytes(uri: string): number {
  return bytesOf(uri) + SUBSCRIPTION_BYTES;
}

function amountsOf(uri: string): SessionAmounts {
  return { subscriptions: 1, bytes: subscriptionBytes(uri) };
}

/** How many values of a group are read at once. */
const PAGE = 1_000;

/**
 * Sessions live for `ttlMs` without use; 0 is for ever. One owner has at most `max`, in all processes together: left out
 * where there is only one, which counts what it has itself.
 */
export function createSessionStore(store: Store, ttlMs: number, max?: SessionMax): SessionStore {
  const { values, streams } = store;
  const shares = max === undefined ? undefined : createSessionShares(store, max);
  const ttlOf = ({ ready }: KeptSession): { readonly ttlMs?: number } => {
    if (ttlMs <= 0) return {};
    return { ttlMs: ready ? ttlMs : Math.min(ttlMs, INITIALIZED_TIMEOUT_MS) };
  };
  const partTtl: { readonly ttlMs?: number } = ttlMs > 0 ? { ttlMs } : {};

  const subscriptions = (id: string, after?: string): Awaitable<readonly NamedValue[]> =>
    chain(values.list(partName(id, URIS), { after, limit: PAGE }), (page) => {
      if (page.length < PAGE) return page;
      return chain(subscriptions(id, page.at(-1)?.name), (rest) => [...page, ...rest]);
    });

  const touchShare = (id: string, { ttlMs: shareTtlMs }: { readonly ttlMs?: number }): Awaitable<unknown> =>
    shareTtlMs === undefined ? undefined : shares?.touch(id, shareTtlMs);

  const find: SessionStore["find"] = (id, known) => {
    const name = known?.name ?? sessionName(id);
    const value = values.get(name);
    return value instanceof Promise ? value.then((it) => readKept(name, it, known)) : readKept(name, value, known);
  };

  const change: SessionStore["change"] = (id, changed, known) =>
    chain(find(id, known), (kept) => {
      if (kept === undefined) return undefined;
      const { session, text } = write(changed(kept.session));
      const { name } = kept;
      const put = values.put(name, text, { version: kept.version, ...ttlOf(session) });
      return chain(put, (version) => {
        if (version === undefined) return change(id, changed);
        return chain(touchShare(id, ttlOf(session)), () => ({ session, version, name }));
      });
    });

  return {
    open(id, opened) {
      const name = sessionName(id);
      const { session, text } = write(opened);
      const ttl = ttlOf(session);
      const put = (): Awaitable<StoredSession> =>
        chain(values.put(name, text, ttl), (version) => ({ session, version: version ?? "", name }));
      if (shares === undefined || session.owner === undefined) return put();
      const amounts = { subscriptions: 0, bytes: bytesOf(text) };
      return shares.take(id, session.owner, amounts, ttl.ttlMs).then((short) => short ?? put());
    },
    find,
    change,
    touch(id, session) {
      const { ttlMs: ownTtlMs } = ttlOf(session);
      if (ownTtlMs === undefined) return chain(values.get(sessionName(id)), (value) => value !== undefined);
      const touched = values.touch(sessionName(id), ownTtlMs);
      const parts: readonly Awaitable<unknown>[] = [
        ...[NOTIFICATIONS, WAITS].map((part) => values.touch(partName(id, part), ttlMs)),
        touchShare(id, { ttlMs: ownTtlMs }),
      ];
      const uris = chain(subscriptions(id), (all) => allOf(all.map((uri) => values.touch(uri.name, ttlMs))));
      return touched instanceof Promise ? Promise.all([touched, uris, ...parts]).then(([there]) => there) : touched;
    },
    delete(id) {
      const was = values.delete(sessionName(id));
      const parts: readonly Awaitable<unknown>[] = [
        ...[NOTIFICATIONS, WAITS].map((part) => values.delete(partName(id, part))),
        chain(subscriptions(id), (all) => allOf(all.map(({ name }) => values.delete(name)))),
        ...[NO_CALL_STREAM, WHOLE_RESPONSES].map((part) => streams.delete(partName(id, part))),
        shares?.delete(id),
      ];
      return was instanceof Promise ? Promise.all([was, ...parts]).then(([it]) => it) : was;
    },
    uris: (id) => chain(subscriptions(id), (all) => all.map(({ text }) => text)),
    subscribe: (id, uri, owner) =>
      chain(uriName(id, uri), (name) => {
        const put = values.put(name, uri, { version: null, group: partName(id, URIS), ...partTtl });
        return chain(put, (written): Awaitable<boolean | LimitReached> => {
          if (written === undefined) return false;
          if (shares === undefined || owner === undefined) return true;
          const taken = shares.take(id, owner, amountsOf(uri), partTtl.ttlMs);
          return taken.then((short) => (short === undefined ? true : chain(values.delete(name), () => short)));
        });
      }),
    unsubscribe: (id, uri, owner) =>
      chain(uriName(id, uri), (name) =>
        chain(values.delete(name), (was) => {
          if (!was || shares === undefined || owner === undefined) return was;
          return shares.give(id, owner, amountsOf(uri), partTtl.ttlMs).then(() => true);
        }),
      ),
    lastChange: () => chain(streams.read(CHANGES, 0, 1), ({ last }) => last),
  };
}

function readKept(
  name: string,
  value: StoredValue | undefined,
  known: StoredSession | undefined,
): StoredSession | undefined {
  if (value === undefined) return undefined;
  if (value.version === known?.version) return known;
  return { session: JSON.parse(value.text), version: value.version, name };
}

/** What the client of a session waits to hear of: by which token it hears of the progress of its tasks, and whether it may have. */
export interface Waits {
  readonly tasks: Readonly<Record<string, { readonly token?: Id | undefined; readonly isKnown?: boolean }>>;
  /** Ids of pages that its user was sent to. */
  readonly pages: readonly string[];
}

/** What sessions wait for, in a store: any process may tell them. */
export interface SessionWaits {
  read(session: string): Awaitable<Waits>;
  addTask(session: string, task: BegunTask): Promise<void>;
  /** Says that the client hears of a task from now on. */
  tellTask(session: string, taskId: string): Promise<void>;
  dropTask(session: string, taskId: string): Promise<void>;
  addPage(session: string, elicitationId: string): Promise<void>;
  dropPage(session: string, elicitationId: string): Promise<void>;
}

/** Of each kind. The oldest give way. */
const MAX_WAITS = 100;
/** A client hears nothing of the progress of a task whose token is longer. */
const MAX_TOKEN_CHARS = 1_024;

const nothing: Waits = { tasks: {}, pages: [] };

export function createSessionWaits({ values }: Store, ttlMs: number): SessionWaits {
  const expiry = ttlMs > 0 ? { ttlMs } : {};

  const update = async (session: string, change: (waits: Waits) => Waits): Promise<void> => {
    const name = partName(session, WAITS);
    for (;;) {
      const value = await values.get(name);
      const before = value === undefined ? nothing : JSON.parse(value.text);
      const after = change(before);
      if (after === before) return;
      const put = { version: value?.version ?? null, ...expiry };
      if ((await values.put(name, JSON.stringify(after), put)) !== undefined) return;
    }
  };

  const withTasks = (waits: Waits, tasks: readonly (readonly [string, Waits["tasks"][string]])[]): Waits => ({
    ...waits,
    tasks: Object.fromEntries(tasks.slice(-MAX_WAITS)),
  });

  return {
    read: (session) =>
      chain(values.get(partName(session, WAITS)), (value) => (value === undefined ? nothing : JSON.parse(value.text))),
    addTask: (session, { taskId, progressToken }) => {
      const isShort = typeof progressToken !== "string" || progressToken.length <= MAX_TOKEN_CHARS;
      const task = isShort ? { token: progressToken } : {};
      return update(session, (waits) => withTasks(waits, [...Object.entries(waits.tasks), [taskId, task]]));
    },
    tellTask: (session, taskId) =>
      update(session, (waits) => {
        const task = waits.tasks[taskId];
        if (task === undefined || task.isKnown === true) return waits;
        return { ...waits, tasks: { ...waits.tasks, [taskId]: { ...task, isKnown: true } } };
      }),
    dropTask: (session, taskId) =>
      update(session, (waits) => {
        const rest = Object.entries(waits.tasks).filter(([id]) => id !== taskId);
        return rest.length === Object.keys(waits.tasks).length ? waits : withTasks(waits, rest);
      }),
    addPage: (session, id) => update(session, (waits) => ({ ...waits, pages: [...waits.pages, id].slice(-MAX_WAITS) })),
    dropPage: (session, id) =>
      update(session, (waits) => {
        const pages = waits.pages.filter((page) => page !== id);
        return pages.length === waits.pages.length ? waits : { ...waits, pages };
      }),
  };
}

/** 256 random bits, in characters that a header may contain. */
export function createSessionId(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(32)));
}

/** Others were never given, and are not worth asking for. */
export function isSessionId(id: string): boolean {
  return /^[\w-]{43}$/.test(id);
}

/** 96 random bits, in 16 characters that an id may contain. */
export function randomName(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(12)));
}
