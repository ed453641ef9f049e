import { createFollow } from "../client/requests.ts";
import type { FollowContext } from "../client/task-notifications.ts";
import type { ClientConnection } from "../connect/create-connect.ts";
import { type Failure, McpError, toError, toFailure } from "../protocol/errors.ts";
import type { Question } from "../protocol/input.ts";
import type { Method, Params, Result } from "../protocol/methods.ts";
import type { ClientInfo } from "../protocol/peer.ts";
import { eraOf } from "../protocol/revision.ts";
import { abortReason, type Call, createCall, type Outcome, onAbort } from "../protocol/service.ts";
import type { Change } from "../protocol/subscription.ts";
import type { Task } from "../protocol/task.ts";
import type { Broadcast } from "../std/broadcast.ts";
import type { Clock } from "../std/clock.ts";
import { LazyAbort } from "../std/lazy-abort.ts";
import { over } from "./delivery.ts";
import type { ServerSlot } from "./server-slot.ts";
import type { HostEvent } from "./status.ts";

/** A change on one of the servers. */
export type HostChange = Change & { readonly server: string };

/** A resource of a server. */
export interface ResourceRef {
  readonly server: string;
  readonly uri: string;
}

export interface ChangesOptions {
  /** Resources whose updates are wanted, beside changes of lists. */
  readonly resources?: readonly ResourceRef[] | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Changes, until the reader leaves the loop, the signal aborts or the host is closed. */
export interface HostChanges extends AsyncIterable<HostChange> {
  /** Resolves when all servers that are connected listen: no later change is missed. Never rejects. */
  readonly ready: Promise<void>;
}

export type ChangeFeed = (options?: ChangesOptions) => HostChanges;

interface ChangeFeedOptions {
  readonly events: Broadcast<HostEvent>;
  readonly slots: ReadonlyMap<string, ServerSlot>;
  /** Throws when there is no such server. */
  slot(server: string): ServerSlot;
}

/** The changes of all servers as one stream. Listening starts with the call, and ends with the loop. */
export function createChangeFeed({ events, slots, slot }: ChangeFeedOptions): ChangeFeed {
  return ({ resources = [], signal } = {}) => {
    const wanted = new Set(resources.map(({ server, uri }) => `${server} ${uri}`));
    const watched = resources.map(({ server, uri }) => slot(server).follower.watch(uri));
    const stop = (): void => {
      for (const one of watched) one.stop();
    };
    signal?.addEventListener("abort", stop, { once: true });
    const isWanted = (server: string, change: Change): boolean =>
      change.kind !== "resource" || wanted.has(`${server} ${change.uri}`);
    const items = read(events.listen(signal), isWanted, stop);
    const lists = [...slots.values()].map(({ follower }) => follower.listening);
    return {
      ready: Promise.all([...lists, ...watched.map(({ ready }) => ready)]).then(() => {}),
      [Symbol.asyncIterator]: () => items,
    };
  };
}

async function* read(
  source: AsyncIterable<HostEvent>,
  isWanted: (server: string, change: Change) => boolean,
  stop: () => void,
): AsyncGenerator<HostChange, void, undefined> {
  try {
    for await (const event of source) {
      if (event.kind === "changed" && isWanted(event.server, event.change))
        yield { ...event.change, server: event.server };
    }
  } finally {
    stop();
  }
}

interface Following {
  readonly line: ClientConnection;
  readonly clock: Clock;
  /** The call that ended as a task. */
  readonly call: Call<"tools/call">;
  /** What is stated to the server about who calls. */
  readonly peer: ClientInfo;
  /** Makes what brings the caller back to the task when it has answers. */
  toState(): Promise<string>;
}

const closed: Failure = { code: "connection-closed", message: "the connection is closed" };
const gaveUp: Failure = { code: "cancelled", message: "tools/call was cancelled" };

/** As often as a client of ours lets itself be asked. */
const maxRounds = 10;

/**
 * Waits for the end of a task on behalf of a caller that cannot.
 *
 * What the task asks reaches the caller: at once where it can be asked while it waits, else as an outcome with which it
 * comes back. When the caller gives up, the task is cancelled.
 */
export async function followForCaller(task: Task, following: Following): Promise<Outcome<"tools/call">> {
  const { line, clock, call } = following;
  let questions: Readonly<Record<string, Question>> = {};
  let isAsked = false;
  const abort = new LazyAbort();
  const stop = onAbort(call, () => abort.abort(abortReason(call)));
  void line.connection.ended.then((ending) => abort.abort(toError(ending ?? closed)));
  const answer: FollowContext["handlers"]["answer"] = (question) => {
    if (call.ask !== undefined) return call.ask(question);
    isAsked = true;
    return Promise.reject(new McpError("missing-capability", "the caller has to be asked"));
  };
  const isModern = eraOf(line.connection.revision) === "modern";
  const follow = createFollow({ send: senderOf(following), handlers: { answer }, clock, maxRounds, isModern });
  try {
    const result = await follow(task, {
      abort,
      get keeps() {
        return isAsked;
      },
      onTask(stands) {
        if ("questions" in stands) questions = stands.questions as typeof questions;
      },
      headers: undefined,
      onRequestSent() {},
      onResponse() {},
    });
    return { kind: "complete", result };
  } catch (error) {
    if (isAsked) return { kind: "input-required", questions, state: await following.toState() };
    if (abortReason(call) !== undefined) return { kind: "failed", failure: gaveUp };
    if (!(error instanceof McpError) || error.code === "connection-closed") throw error;
    return { kind: "failed", failure: toFailure(error) };
  } finally {
    stop();
  }
}

/** Sends what following takes in the name of the caller. Nothing is listened to: a task is asked about instead. */
function senderOf({ line, peer }: Following): FollowContext["send"] {
  return async <M extends Method>(
    method: M,
    params: Params<M>,
    options: { readonly signal?: AbortSignal | undefined } = {},
  ) => {
    if (method === "subscriptions/listen") throw new McpError("unsupported", "tasks are asked about");
    const abort = new LazyAbort();
    const { signal } = options;
    const cancel = (): void => abort.abort(signal?.reason);
    if (signal?.aborted === true) cancel();
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      const outcome = await over(
        line,
        createCall({ method, params, peer, abort, notify: () => undefined, tasks: able }),
      );
      if (outcome.kind === "complete") return outcome.result as Result<M>;
      if (outcome.kind === "failed") throw toError(outcome.failure);
      throw new McpError("invalid-response", `${method} ended with ${outcome.kind}`);
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
  };
}

const able = { wanted: false };
