import type { Id } from "../../jsonrpc/message.ts";
import type { Auth, ServerCapabilities } from "../../protocol/peer.ts";
import { type Awaitable, chain } from "../../std/awaitable.ts";
import { toBase64Url } from "../../std/base64.ts";
import type { Store, StoredValue } from "../../store/store.ts";
import type { BegunTask } from "../session/follow-task.ts";
import type { SessionRecord } from "../session/server-session.ts";

/** What all processes know of a session. */
export interface KeptSession extends SessionRecord {
  /** The position of the last change before the client was ready: it hears of what followed. */
  readonly since: number;
}

/** What there is to keep of a session that was just opened. Claims may say more of somebody than others need to know. */
export function toKept({ peer, capabilities, ready, logLevel }: SessionRecord, auth: Auth | undefined): KeptSession {
  const known = { peer, capabilities: sharedCapabilities(capabilities), ready, logLevel, since: 0 };
  if (auth === undefined) return known;
  const { principal, scopes } = auth;
  return { ...known, peer: { ...peer, auth: scopes === undefined ? { principal } : { principal, scopes } } };
}

let latest: { readonly text: string; readonly capabilities: ServerCapabilities } | undefined;

/** The same capabilities. They are nearly always those of the session before, and one object serves all of these. */
function sharedCapabilities(capabilities: ServerCapabilities): ServerCapabilities {
  const text = JSON.stringify(capabilities);
  if (latest?.text !== text) latest = { text, capabilities };
  return latest.capabilities;
}

/** A session as it was read. */
export interface Kept {
  readonly session: KeptSession;
  readonly version: string;
  /** Its name in the store. One that is made anew has to be hashed anew. */
  readonly name: string;
}

/**
 * Sessions in a store. Each is a value that is forgotten when nobody uses the
 * session; what it subscribed to is another one, so that the first stays small.
 */
export interface SessionStore {
  open(id: string, session: KeptSession): Awaitable<Kept>;
  /** `known` saves reading what has not changed since. */
  find(id: string, known?: Kept): Awaitable<Kept | undefined>;
  /** Changes what is there now. Undefined when there is no such session. */
  change(id: string, change: (session: KeptSession) => KeptSession, known?: Kept): Awaitable<Kept | undefined>;
  /** Gives it another time to live. False when there is no such session. */
  touch(id: string, session: KeptSession): Awaitable<boolean>;
  /** False when there was none. */
  delete(id: string): Awaitable<boolean>;
  /** The resources that a session subscribed to. */
  uris(id: string): Awaitable<readonly string[]>;
  subscribe(id: string, uri: string): Promise<void>;
  unsubscribe(id: string, uri: string): Promise<void>;
  /** The position of the last change of the service. */
  lastChange(): Awaitable<number>;
}

/** How long a client has to say that it is ready. */
const GREETING_MS = 60_000;
/** Where servers keep what changed. */
const CHANGES = "changes";

/** The stream of what belongs to no call, of responses that went out whole; the value of who sends notifications. */
export const ASIDE = "aside";
export const WHOLE = "whole";
export const NOTIFICATIONS = "notifications";
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

/** Sessions live for `ttlMs` without use; 0 is for ever. */
export function createSessionStore({ values, streams }: Store, ttlMs: number): SessionStore {
  const ttlOf = ({ ready }: KeptSession): { readonly ttlMs?: number } => {
    if (ttlMs <= 0) return {};
    return { ttlMs: ready ? ttlMs : Math.min(ttlMs, GREETING_MS) };
  };
  const partTtl = ttlMs > 0 ? { ttlMs } : {};

  const update = async (id: string, change: (uris: Set<string>) => unknown): Promise<void> => {
    const name = partName(id, URIS);
    for (;;) {
      const value = await values.get(name);
      const uris = new Set<string>(value === undefined ? [] : JSON.parse(value.text));
      change(uris);
      const put = { version: value?.version ?? null, ...partTtl };
      if ((await values.put(name, JSON.stringify([...uris]), put)) !== undefined) return;
    }
  };

  const find: SessionStore["find"] = (id, known) => {
    const name = known?.name ?? sessionName(id);
    const value = values.get(name);
    return value instanceof Promise ? value.then((it) => readKept(name, it, known)) : readKept(name, value, known);
  };

  const change: SessionStore["change"] = (id, changed, known) =>
    chain(find(id, known), (kept) => {
      if (kept === undefined) return undefined;
      const session = changed(kept.session);
      const { name } = kept;
      const put = values.put(name, JSON.stringify(session), { version: kept.version, ...ttlOf(session) });
      return chain(put, (version) => (version === undefined ? change(id, changed) : { session, version, name }));
    });

  return {
    open(id, session) {
      const name = sessionName(id);
      const put = values.put(name, JSON.stringify(session), ttlOf(session));
      return chain(put, (version) => ({ session, version: version ?? "", name }));
    },
    find,
    change,
    touch(id, session) {
      const { ttlMs: ownTtlMs } = ttlOf(session);
      if (ownTtlMs === undefined) return chain(values.get(sessionName(id)), (value) => value !== undefined);
      const touched = values.touch(sessionName(id), ownTtlMs);
      const parts = [URIS, NOTIFICATIONS, WAITS].map((part) => values.touch(partName(id, part), ttlMs));
      return touched instanceof Promise ? Promise.all([touched, ...parts]).then(([there]) => there) : touched;
    },
    delete(id) {
      const was = values.delete(sessionName(id));
      const parts: readonly Awaitable<unknown>[] = [
        ...[URIS, NOTIFICATIONS, WAITS].map((part) => values.delete(partName(id, part))),
        ...[ASIDE, WHOLE].map((part) => streams.delete(partName(id, part))),
      ];
      return was instanceof Promise ? Promise.all([was, ...parts]).then(([it]) => it) : was;
    },
    uris: (id) => chain(values.get(partName(id, URIS)), (value) => (value === undefined ? [] : JSON.parse(value.text))),
    subscribe: (id, uri) => update(id, (uris) => uris.add(uri)),
    unsubscribe: (id, uri) => update(id, (uris) => uris.delete(uri)),
    lastChange: () => chain(streams.read(CHANGES, 0, 1), ({ last }) => last),
  };
}

function readKept(name: string, value: StoredValue | undefined, known: Kept | undefined): Kept | undefined {
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

/** 256 bits that nobody can guess, in characters that a header may have. */
export function createSessionId(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(32)));
}

/** Others were never given, and are not worth asking for. */
export function isSessionId(id: string): boolean {
  return /^[\w-]{43}$/.test(id);
}

/** 96 bits that nobody can guess, in 16 characters that an id may have. */
export function randomName(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(12)));
}
