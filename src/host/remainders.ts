import { asJson } from "../json/json.ts";
import { accountOf } from "../protocol/account.ts";
import type { Ledger, Shortage } from "../protocol/budget.ts";
import { type McpError, toFailure } from "../protocol/errors.ts";
import type { ClientInfo } from "../protocol/peer.ts";
import { type CallOf, createCall, type OutcomeOf } from "../protocol/service.ts";
import { type Amounts, createShares, isShare, type Share, type Shares } from "../protocol/shares.ts";
import { isFinal } from "../protocol/task.ts";
import type { Clock } from "../std/clock.ts";
import { LazyAbort } from "../std/lazy-abort.ts";
import { createExpiry, type Expiry } from "../store/expiring-map.ts";
import { soon } from "./server-changes.ts";

/** What a call leaves behind at its server: a question that waits for its answer, or a task that is under way. */
type Kind = "parkedCalls" | "tasks";

const one: { readonly [K in Kind]: Amounts } = { parkedCalls: { parkedCalls: 1 }, tasks: { tasks: 1 } };

/** Asks for a task by the id that its caller has, as if the caller did. */
export type AskAboutTask = (call: CallOf<"tasks/get"> | CallOf<"tasks/cancel">) => Promise<unknown>;

/** What calls leave behind at one server, counted for their callers. */
export interface Remainders {
  /**
   * Takes room for what a call will leave behind, where it is known to: one that brings answers, or whose like has left
   * something. Rejects with `limit-reached` when its caller has no room.
   */
  reserve(call: CallOf, isTask: boolean): Share | undefined | Promise<Share>;
  /** Counts what a call has left behind. Gives another outcome when there is no room for it. */
  keep<M extends CallOf["method"]>(
    call: CallOf<M>,
    outcome: OutcomeOf<M>,
    options: { readonly reserved: Share | undefined; readonly isTask: boolean },
  ): OutcomeOf<M>;
  /** Hears what was answered about a task, by the id that its caller has. One that is over is counted no more. */
  hear(taskId: string, outcome: OutcomeOf): void;
}

interface RemaindersOptions {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly askAboutTask: AskAboutTask;
  /** Makes the error of who has no room. */
  refuse(short: Shortage): McpError;
}

/** As long as servers of this package wait for an answer. */
const QUESTION_MS = 600_000;
/** Of a task whose end nobody asks for. */
const TASK_MS = 86_400_000;
/** A task is looked at so often at most. */
const LOOK_MS = 1_000;
/** So many calls are known to leave something behind. */
const MAX_NAMES = 1_000;

export function createRemainders({ ledger, clock, askAboutTask, refuse }: RemaindersOptions): Remainders {
  const parts: Parts = { shares: createShares(ledger, clock), expiry: createExpiry(clock), clock, askAboutTask };
  const questions = createQuestions(parts);
  const tasks = createTasks(parts);
  const kinds = createKinds();

  const orThrow = (taken: Share | Shortage): Share => {
    if (isShare(taken)) return taken;
    throw refuse(taken);
  };

  /** What was taken before is good only for what was expected. */
  const takeFor = (kind: Kind, account: string, reserved: Share | undefined): Share | Shortage => {
    if (reserved?.amounts[kind] !== undefined) return reserved;
    reserved?.release();
    return parts.shares.take(account, one[kind]);
  };

  return {
    reserve(call, isTask) {
      const account = accountOf(call);
      if (call.state !== undefined) questions.forget(account, call.state);
      const kind = isTask ? "tasks" : kinds.of(call);
      if (kind === undefined) return undefined;
      return kind === "tasks" ? tasks.take(account).then(orThrow) : orThrow(parts.shares.take(account, one[kind]));
    },
    keep(call, outcome, { reserved, isTask }) {
      const left = leftBy(outcome);
      if (left === undefined) {
        reserved?.release();
        return outcome;
      }
      const kind = isTask ? "tasks" : left.kind;
      kinds.learn(call, kind);
      const account = accountOf(call);
      const share = takeFor(kind, account, reserved);
      if (!isShare(share)) {
        if (left.kind === "tasks") tasks.cancel(left.name, call.peer);
        return { kind: "failed", failure: toFailure(refuse(share)) };
      }
      if (left.kind === "tasks") tasks.keep(left.name, { account, peer: call.peer, share });
      else questions.keep(account, left.name, share);
      return outcome;
    },
    hear: tasks.hear,
  };
}

interface Parts {
  readonly shares: Shares;
  readonly expiry: Expiry;
  readonly clock: Clock;
  readonly askAboutTask: AskAboutTask;
}

/** What a call has left behind, and the text by which its caller comes back to it. */
function leftBy(outcome: OutcomeOf): { readonly kind: Kind; readonly name: string } | undefined {
  if (outcome.kind === "task") return { kind: "tasks", name: outcome.task.taskId };
  const isKept = outcome.kind === "input-required" && outcome.state !== undefined;
  return isKept ? { kind: "parkedCalls", name: outcome.state } : undefined;
}

/** Questions that wait, each until it is answered or nobody waits for that any more. */
function createQuestions({ expiry }: Parts) {
  const questions = expiry.newMap<Share>((_, share) => share.release());
  /** The end of a sealed text is as unique as the whole. */
  const nameOf = (account: string, state: string): string => `${account} ${state.slice(-43)}`;

  return {
    keep(account: string, state: string, share: Share): void {
      const name = nameOf(account, state);
      questions.set(name, share, expiry.after(QUESTION_MS));
      const forget = (): Amounts => {
        questions.delete(name);
        return {};
      };
      share.yields(forget, "others");
    },
    forget: (account: string, state: string): void => questions.delete(nameOf(account, state))?.release(),
  };
}

interface HeldTask {
  readonly account: string;
  readonly peer: ClientInfo;
  readonly share: Share;
  looked?: { readonly at: number; readonly done: Promise<unknown> };
}

/** Tasks that are under way. Whether one is over only its server knows: it is asked when there is no room. */
function createTasks({ shares, expiry, clock, askAboutTask }: Parts) {
  const tasks = expiry.newMap<HeldTask>((_, { share }) => share.release());

  const ask = (method: "tasks/get" | "tasks/cancel", taskId: string, peer: ClientInfo): Promise<unknown> => {
    const call = { method, params: { taskId }, peer, abort: new LazyAbort(), notify: ignore, tasks: { wanted: false } };
    return askAboutTask(createCall(call)).catch(ignore);
  };

  const cancel = (taskId: string, peer: ClientInfo): void => void ask("tasks/cancel", taskId, peer);

  /** What the server says is heard by `hear`. */
  const lookAt = (taskId: string, task: HeldTask): Promise<unknown> => {
    const now = clock.now();
    if (task.looked === undefined || now - task.looked.at >= LOOK_MS) {
      task.looked = { at: now, done: ask("tasks/get", taskId, task.peer) };
    }
    return task.looked.done;
  };

  /** Looks at the tasks of an account, or of all. */
  const look = async (account?: string): Promise<void> => {
    const looks = [...tasks.slots.keys()].map((taskId) => {
      const task = tasks.get(taskId);
      return task === undefined || task.account !== (account ?? task.account) ? undefined : lookAt(taskId, task);
    });
    await soon(
      Promise.all(looks).then(() => {}),
      clock,
    );
  };

  return {
    cancel,
    async take(account: string): Promise<Share | Shortage> {
      if (shares.isFull("tasks")) await look();
      const taken = shares.take(account, one.tasks);
      if (isShare(taken)) return taken;
      await look(account);
      return shares.take(account, one.tasks);
    },
    keep(taskId: string, task: HeldTask): void {
      tasks.set(taskId, task, expiry.after(TASK_MS));
      const end = (): Amounts => {
        tasks.delete(taskId);
        cancel(taskId, task.peer);
        return {};
      };
      task.share.yields(end, "others");
    },
    hear(taskId: string, outcome: OutcomeOf): void {
      if (isOver(outcome)) tasks.delete(taskId)?.share.release();
    },
  };
}

/** Whether an answer says that a task is over, or that there is none. */
function isOver(outcome: OutcomeOf): boolean {
  if (outcome.kind === "failed") return outcome.failure.code === "invalid-params";
  if (outcome.kind !== "complete") return false;
  const { result } = outcome;
  return "content" in result || ("status" in result && isFinal(result));
}

/** What calls of the same name have left behind before. */
function createKinds() {
  const kinds = new Map<string, Kind>();
  const nameOf = ({ method, params }: CallOf): string => {
    const { name, uri } = asJson(params);
    return `${method} ${String(name ?? uri)}`;
  };

  return {
    of: (call: CallOf): Kind | undefined => (kinds.size === 0 ? undefined : kinds.get(nameOf(call))),
    learn(call: CallOf, kind: Kind): void {
      const name = nameOf(call);
      const [oldest] = kinds.keys();
      if (!kinds.has(name) && kinds.size >= MAX_NAMES && oldest !== undefined) kinds.delete(oldest);
      kinds.set(name, kind);
    },
  };
}

function ignore(): undefined {}
