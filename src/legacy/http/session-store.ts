import type { Id } from "../../jsonrpc/message.ts";
import { type LimitReached, RETRY_AFTER_MS } from "../../protocol/limit-error.ts";
import type { Auth } from "../../protocol/peer.ts";
import { type Awaitable, allOf, chain } from "../../std/awaitable.ts";
import { toBase64Url } from "../../std/base64.ts";
import type { NamedValue, Store, StoredValue } from "../../store/store.ts";
import type { BegunTask } from "../session/follow-task.ts";
import type { SessionRecord } from "../session/server-session.ts";

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

/** Of how many kinds of sessions one object and one text serve all that are equal. */
const KINDS = 64;

const kinds = new Map<string, WrittenSession>();

/** Writes a session down. Clients of one kind have equal sessions: these share what is held of them. */
function write(session: KeptSession): WrittenSession {
  const text = JSON.stringify(session);
  const known = kinds.get(text);
  if (known !== undefined) return known;
  const written = { session, text };
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
  /** Keeps a session, unless its owner has too many: then nothing is kept. */
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
  /** False when it had subscribed to that. */
  subscribe(id: string, uri: string): Awaitable<boolean>;
  /** False when it had not subscribed to that. */
  unsubscribe(id: string, uri: string): Awaitable<boolean>;
  /** The position of the last change of the service. */
  lastChange(): Awaitable<number>;
}

/** How long a client has to say that it is ready. */
const INITIALIZED_TIMEOUT_MS = 60_000;
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

/** The name of what a session subscribed to. Names in a store are short. */
async function longUriName(id: string, uri: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(uri));
  return partName(id, `uri#${toBase64Url(new Uint8Array(digest))}`);
}

const MAX_NAMED_URI = 200;

function uriName(id: string, uri: string): Awaitable<string> {
  return uri.length <= MAX_NAMED_URI ? partName(id, `uri:${uri}`) : longUriName(id, uri);
}

/** How many values of a group are read at once. */
const PAGE = 1_000;

/**
 * Sessions live for `ttlMs` without use; 0 is for ever. One owner has at most `maxSessions` of them, in all processes
 * together: `Infinity` where there is only one, which counts them itself.
 */
export function createSessionStore(
  { values, streams }: Store,
  ttlMs: number,
  maxSessions: number = Number.POSITIVE_INFINITY,
): SessionStore {
  const isCounted = Number.isFinite(maxSessions);
  const groupOf = ({ owner }: KeptSession): { readonly group?: string } =>
    isCounted && owner !== undefined ? { group: `sessions of ${owner}`.slice(0, MAX_NAME) } : {};
  const ttlOf = ({ ready }: KeptSession): { readonly ttlMs?: number } => {
    if (ttlMs <= 0) return {};
    return { ttlMs: ready ? ttlMs : Math.min(ttlMs, INITIALIZED_TIMEOUT_MS) };
  };
  const partTtl = ttlMs > 0 ? { ttlMs } : {};

  const subscriptions = (id: string, after?: string): Awaitable<readonly NamedValue[]> =>
    chain(values.list(partName(id, URIS), { after, limit: PAGE }), (page) => {
      if (page.length < PAGE) return page;
      return chain(subscriptions(id, page.at(-1)?.name), (rest) => [...page, ...rest]);
    });

  /** Whether the owner of a session has more than it may, with this one. */
  const isOneTooMany = (session: KeptSession): Awaitable<boolean> => {
    const { group } = groupOf(session);
    return group !== undefined && isLonger(values, group, maxSessions);
  };

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
      const put = values.put(name, text, {
        version: kept.version,
        ...ttlOf(session),
        ...groupOf(session),
      });
      return chain(put, (version) => (version === undefined ? change(id, changed) : { session, version, name }));
    });

  return {
    open(id, opened) {
      const name = sessionName(id);
      const { session, text } = write(opened);
      const put = values.put(name, text, { ...ttlOf(session), ...groupOf(session) });
      return chain(put, (version) =>
        chain(isOneTooMany(session), (isTooMany): Awaitable<StoredSession | LimitReached> => {
          if (!isTooMany) return { session, version: version ?? "", name };
          return chain(values.delete(name), () => ({
            limit: "maxSessions",
            max: maxSessions,
            scope: "principal",
            retryAfterMs: RETRY_AFTER_MS,
          }));
        }),
      );
    },
    find,
    change,
    touch(id, session) {
      const { ttlMs: ownTtlMs } = ttlOf(session);
      if (ownTtlMs === undefined) return chain(values.get(sessionName(id)), (value) => value !== undefined);
      const touched = values.touch(sessionName(id), ownTtlMs);
      const parts = [NOTIFICATIONS, WAITS].map((part) => values.touch(partName(id, part), ttlMs));
      const uris = chain(subscriptions(id), (all) => allOf(all.map((uri) => values.touch(uri.name, ttlMs))));
      return touched instanceof Promise ? Promise.all([touched, uris, ...parts]).then(([there]) => there) : touched;
    },
    delete(id) {
      const was = values.delete(sessionName(id));
      const parts: readonly Awaitable<unknown>[] = [
        ...[NOTIFICATIONS, WAITS].map((part) => values.delete(partName(id, part))),
        chain(subscriptions(id), (all) => allOf(all.map(({ name }) => values.delete(name)))),
        ...[NO_CALL_STREAM, WHOLE_RESPONSES].map((part) => streams.delete(partName(id, part))),
      ];
      return was instanceof Promise ? Promise.all([was, ...parts]).then(([it]) => it) : was;
    },
    uris: (id) => chain(subscriptions(id), (all) => all.map(({ text }) => text)),
    subscribe: (id, uri) =>
      chain(uriName(id, uri), (name) =>
        chain(
          values.put(name, uri, { version: null, group: partName(id, URIS), ...partTtl }),
          (written) => written !== undefined,
        ),
      ),
    unsubscribe: (id, uri) => chain(uriName(id, uri), (name) => values.delete(name)),
    lastChange: () => chain(streams.read(CHANGES, 0, 1), ({ last }) => last),
  };
}

/** Whether more than `max` values are in a group. */
function isLonger(values: Store["values"], group: string, max: number): Awaitable<boolean> {
  const count = (after: string | undefined, counted: number): Awaitable<boolean> =>
    chain(values.list(group, { after, limit: PAGE }), (page) => {
      const all = counted + page.length;
      if (page.length < PAGE || all > max) return all > max;
      return count(page.at(-1)?.name, all);
    });
  return count(undefined, 0);
}

/** Of the name of an owner: the names of a store are limited. */
const MAX_NAME = 400;

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
    addTask: (session, { taskId, progressToken: token }) =>
      update(session, (waits) => withTasks(waits, [...Object.entries(waits.tasks), [taskId, { token }]])),
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
