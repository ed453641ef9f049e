import { isObject, type JsonObject } from "../json/json.ts";
import { McpError } from "../protocol/errors.ts";
import type { DiscoverResult } from "../protocol/methods.ts";
import { type Change, isWanted, type ListenFilter } from "../protocol/subscription.ts";
import { asyncQueue } from "../std/async-queue.ts";
import type { Clock } from "../std/clock.ts";
import { quote } from "../std/text.ts";
import { callText, cancelled } from "./call-errors.ts";
import { type CallOptions, type NotificationListener, onSignal } from "./call-options.ts";
import { type Requests, unsupported } from "./requests.ts";
import type { Warn } from "./warning.ts";

/// <reference lib="esnext.disposable" preserve="true" />

/**
 * Changes in order, until the reader leaves the loop, the signal aborts or the client is closed. The loop throws when
 * the connection breaks.
 *
 * The subscription starts when the watch is created and lasts until it ends, whether or not it is read. Unread changes
 * are queued; several changes of the same thing count as one. One reader at a time.
 */
export interface Watch<T> extends AsyncIterable<T>, AsyncDisposable {
  /** Resolves when the server listens: no later change is missed. Rejects when it never does. */
  readonly ready: Promise<void>;
  /** What the server does not announce of what it was asked for, once `ready` has resolved: kinds of lists, and URIs. */
  readonly missing: readonly string[];
}

export interface WatchOptions extends Pick<CallOptions, "signal" | "meta"> {
  /** How long the server may take to confirm. Default 30 s; 0 is off. */
  readonly timeoutMs?: number | undefined;
}

/** What listening needs of a client. */
export interface Listener {
  readonly server: DiscoverResult;
  readonly send: Requests["send"];
  readonly clock: Clock;
  readonly confirmMs: number;
  readonly warn: Warn;
  /** True once this side has closed the connection. */
  isClosed(): boolean;
  /** Called with each change before a reader receives it. */
  onChange(change: Change): void;
}

const method = "subscriptions/listen";

/** A reader that is this far behind has lost interest, or its server its mind. */
const maxUnread = 1024;

/** What to listen for. */
interface Subscription<T> {
  readonly filter: ListenFilter;
  /** Converts a change to the value that the reader receives. */
  pick(change: Change): T;
  /** Why the subscription cannot be made, without a request to the server. */
  readonly refusal?: McpError | undefined;
}

/** Opens a subscription. Whatever ends it early reaches both `ready` and the loop. */
export function listen<T>(listener: Listener, subscription: Subscription<T>, options: WatchOptions = {}): Watch<T> {
  const { filter, pick, refusal } = subscription;
  const { signal, meta, timeoutMs = listener.confirmMs } = options;
  const changes = createChangeQueue(maxUnread);
  const what = callText(method, {}, listener.server);
  const ready = deferred();
  const call = new AbortController();
  let confirmed = false;
  let unheard: readonly string[] = [];

  /** The first reason wins. Without an error the loop just ends. */
  const end = (error?: McpError): void => {
    if (call.signal.aborted) return;
    call.abort(error);
    changes.end(error);
    ready.reject(error ?? cancelled(what, signal ?? call.signal));
  };
  const onEnd = (task: () => void): void => call.signal.addEventListener("abort", task, { once: true });
  const releaseProcess = listener.clock.hold?.();
  const disarm = timeoutMs > 0 ? listener.clock.after(timeoutMs, () => end(unconfirmed(what, timeoutMs))) : () => {};
  const stopTimer = (): void => {
    disarm();
    releaseProcess?.();
  };
  onEnd(stopTimer);
  if (signal?.aborted) end();
  else if (signal) onEnd(onSignal(signal, () => end()));

  const onNotification = toNotificationListener(filter, {
    confirm(missing) {
      confirmed = true;
      unheard = missing;
      stopTimer();
      const message = `server ${quote(listener.server.serverInfo.name)} does not announce changes of ${missing.join(", ")}`;
      if (missing.length === namesOf(filter).length) end(new McpError("unsupported", message));
      else if (missing.length > 0) listener.warn({ kind: "not-honoured", message });
      ready.resolve();
    },
    change(change) {
      if (call.signal.aborted) return;
      listener.onChange(change);
      if (!changes.push(change)) end(unread(what));
    },
  });

  open(listener, { filter, refusal, onNotification, meta, signal: call.signal }).then(
    () => end(confirmed ? undefined : new McpError("invalid-response", `${what} ended before it was confirmed`)),
    (error: McpError) => end(listener.isClosed() ? undefined : error),
  );

  return {
    ready: ready.promise,
    get missing() {
      return unheard;
    },
    [Symbol.asyncIterator]: () => changes.read(pick, end),
    [Symbol.asyncDispose]: async () => end(),
  };
}

interface ListenCall extends Pick<CallOptions, "signal" | "meta"> {
  readonly filter: ListenFilter;
  readonly refusal: McpError | undefined;
  readonly onNotification: NotificationListener;
}

/** The request of the subscription, which stays open until the subscription ends. */
function open(listener: Listener, { filter, refusal, onNotification, meta, signal }: ListenCall): Promise<unknown> {
  if (refusal !== undefined) return Promise.reject(refusal);
  return listener.send(
    method,
    { notifications: filter },
    { signal, meta, timeoutMs: 0, maxTotalMs: 0 },
    { onNotification, isSubscription: true },
  );
}

function unconfirmed(what: string, timeoutMs: number): McpError {
  const message = `${what} was not confirmed within ${timeoutMs} ms (timeoutMs of the watch)`;
  return new McpError("timeout", message, { data: { phase: "call", timeoutMs } });
}

function unread(what: string): McpError {
  return new McpError(
    "limit-reached",
    `${what} ended: more than ${maxUnread} changes wait to be read; read them as they come`,
  );
}

interface SubscriptionListener {
  /** The server listens, but not for what is missing. */
  confirm(missing: readonly string[]): void;
  change(change: Change): void;
}

/** Understands what a subscription says, and leaves out what was not asked for. */
function toNotificationListener(filter: ListenFilter, listener: SubscriptionListener): NotificationListener {
  return (notification, params) => {
    if (notification === "notifications/subscriptions/acknowledged") {
      listener.confirm(isObject(params.notifications) ? missingFrom(params.notifications, filter) : []);
    }
    const change = toChange(notification, params);
    if (change !== undefined && isAsked(change, filter)) listener.change(change);
  };
}

/** A promise to settle later. It may be ignored, also when it rejects: the loop says the same. */
function deferred(): { promise: Promise<void>; resolve: () => void; reject: (error: McpError) => void } {
  let resolve: () => void = () => {};
  let reject: (error: McpError) => void = () => {};
  const promise = new Promise<void>((...settle) => {
    [resolve, reject] = settle;
  });
  promise.catch(() => {});
  return { promise, resolve, reject };
}

/** What was asked for and is not honoured. */
function missingFrom(honoured: ListenFilter, asked: ListenFilter): readonly string[] {
  const names = new Set(namesOf(honoured));
  return namesOf(asked).filter((name) => !names.has(name));
}

function namesOf(filter: ListenFilter): readonly string[] {
  const { toolsListChanged, promptsListChanged, resourcesListChanged, resourceSubscriptions } = filter;
  return [
    ...(toolsListChanged === true ? ["tools"] : []),
    ...(promptsListChanged === true ? ["prompts"] : []),
    ...(resourcesListChanged === true ? ["resources"] : []),
    ...(Array.isArray(resourceSubscriptions) ? resourceSubscriptions : []),
  ];
}

function toChange(notification: string, { uri }: JsonObject): Change | undefined {
  switch (notification) {
    case "notifications/tools/list_changed":
      return { kind: "tools" };
    case "notifications/prompts/list_changed":
      return { kind: "prompts" };
    case "notifications/resources/list_changed":
      return { kind: "resources" };
    case "notifications/resources/updated":
      return typeof uri === "string" ? { kind: "resource", uri } : undefined;
    default:
      return undefined;
  }
}

/** An update may name a part of the resource that is watched, so any URI counts. */
function isAsked(change: Change, filter: ListenFilter): boolean {
  if (change.kind === "resource") return (filter.resourceSubscriptions ?? []).length > 0;
  return isWanted(change, filter);
}

/** A queue of changes between the server and one reader. Each thing is in it at most once. */
interface ChangeQueue {
  /** False when the change found no room: the reader is too far behind. */
  push(change: Change): boolean;
  /** The reader receives the queued changes, then the end or the error. */
  end(error?: unknown): void;
  /** Reads on, through `pick`. `leave` runs when the reader goes before the end. */
  read<T>(pick: (change: Change) => T, leave: () => void): AsyncIterator<T, undefined>;
}

function createChangeQueue(maxUnread: number): ChangeQueue {
  const queue = asyncQueue<Change>();
  const waiting = new Set<string>();
  const items = queue[Symbol.asyncIterator]();

  return {
    push(change) {
      const key = keyOf(change);
      if (waiting.has(key)) return true;
      if (waiting.size >= maxUnread) return false;
      waiting.add(key);
      queue.push(change);
      return true;
    },
    end(error) {
      if (error === undefined) queue.end();
      else queue.fail(error);
    },
    read: (pick, leave) => ({
      async next() {
        const item = await items.next();
        if (item.done) return { done: true, value: undefined };
        waiting.delete(keyOf(item.value));
        return { done: false, value: pick(item.value) };
      },
      async return() {
        leave();
        return { done: true, value: undefined };
      },
    }),
  };
}

function keyOf(change: Change): string {
  if (change.kind === "task") return `task ${change.task.taskId}`;
  return change.kind === "resource" ? `resource ${change.uri}` : change.kind;
}

/** The kinds of lists to watch. */
export interface ChangeKinds {
  readonly tools?: boolean | undefined;
  readonly prompts?: boolean | undefined;
  readonly resources?: boolean | undefined;
}

/**
 * Watches for changes on one server. A kind that the server does not announce fails with `unsupported`, without a
 * request.
 */
interface Watches {
  watch(uri: string, options?: WatchOptions): Watch<{ readonly uri: string }>;
  changes(kinds?: ChangeKinds, options?: WatchOptions): Watch<Change>;
}

export function createWatches(listener: Listener): Watches {
  const { server } = listener;
  const { resources } = server.capabilities;
  const announced = kinds.filter((kind) => server.capabilities[kind]?.listChanged === true);
  const refuse = (capability: string) => unsupported(server, "subscriptions/listen", capability);

  return {
    watch(uri, options) {
      const refusal = resources?.subscribe === true ? undefined : refuse("resources.subscribe");
      const pick = (change: Change) => ({ uri: change.kind === "resource" ? change.uri : uri });
      return listen(listener, { filter: { resourceSubscriptions: [uri] }, pick, refusal }, options);
    },
    changes(wanted, options) {
      const named = kinds.filter((kind) => wanted?.[kind] === true);
      const asked = named.length > 0 ? named : announced;
      const missing = asked.filter((kind) => !announced.includes(kind)).map((kind) => `${kind}.listChanged`);
      const refusal =
        asked.length === 0 || missing.length > 0 ? refuse(missing.join(", ") || "listChanged") : undefined;
      return listen(listener, { filter: filterOf(asked), pick: (change) => change, refusal }, options);
    },
  };
}

type Kind = keyof ChangeKinds;

const kinds: readonly Kind[] = ["tools", "prompts", "resources"];

function filterOf(asked: readonly Kind[]): ListenFilter {
  return {
    ...(asked.includes("tools") && { toolsListChanged: true }),
    ...(asked.includes("prompts") && { promptsListChanged: true }),
    ...(asked.includes("resources") && { resourcesListChanged: true }),
  };
}
