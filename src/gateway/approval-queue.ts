import { isObject } from "../json/json.ts";
import { McpError } from "../protocol/errors.ts";
import { createBroadcast } from "../std/broadcast.ts";
import type { Clock } from "../std/clock.ts";
import { type Lazy, lazy } from "../std/lazy.ts";
import type { Store, TopicSubscription } from "../store/store.ts";
import type { ApprovalAnswer, ApprovalChange, GatewayApprovals, PendingApproval } from "./approval.ts";
import {
  type ApprovalLimits,
  type ApprovalRecord,
  createApprovalRecords,
  type KeptApproval,
  unknownApproval,
} from "./approval-records.ts";

export interface ApprovalQueueOptions extends ApprovalLimits {
  readonly store: () => Promise<Store>;
  readonly clock: Clock;
  /** How long a call waits for an answer. Its caller can come back for it later. */
  readonly waitMs: number;
}

/** A call that has to be approved. */
export interface ApprovalRequest {
  /** Of who calls, and of the call: an approval is good for nothing else. */
  readonly digest: string;
  readonly account: string;
  readonly approval: Omit<PendingApproval, "id" | "since">;
  readonly signal: AbortSignal;
  /** Called when it is known that the call has to wait. */
  onWaiting(): void;
}

export interface ApprovalQueue extends GatewayApprovals {
  /**
   * Resolves with who has approved of a call: that approval is used up. Rejects with `declined` when the answer is no,
   * with `denied` when there is none in time, and with `cancelled` when the signal aborts.
   */
  approve(request: ApprovalRequest): Promise<string>;
  close(): Promise<void>;
}

const topic = "approvals";
const maxUnread = 1_024;

/** Approvals in the store: one that is waited for in one process can be answered in another. */
export function createApprovalQueue(options: ApprovalQueueOptions): ApprovalQueue {
  const { store, clock, waitMs } = options;
  const records = createApprovalRecords(store, options);
  const heard = createBroadcast<ApprovalChange>({ maxUnread, overrun, clock });
  const waiters = new Set<Waiter>();
  const feed: Lazy<TopicSubscription> = lazy(async () => {
    const subscription = await (await store()).topics.subscribe(topic);
    void follow(subscription, heard.tell, waiters);
    return subscription;
  });

  const tell = async (kind: ApprovalChange["kind"], approval: PendingApproval, by?: string): Promise<void> => {
    const change: ApprovalChange = { kind, approval, ...(by !== undefined && { by }) };
    await (await store()).topics.publish(topic, JSON.stringify(change));
  };

  /** Asks for the approval of a call that nobody has asked for. */
  const ask = async ({ digest, account, approval }: ApprovalRequest): Promise<void> => {
    const since = new Date((clock.date ?? Date.now)()).toISOString();
    const pending: PendingApproval = { id: `${digest}.${crypto.randomUUID()}`, ...approval, since };
    if (await records.add(digest, { state: "waiting", approval: pending, account })) await tell("waiting", pending);
  };

  /** Who has approved, where the answer is there. Whoever takes it is the only one who does. */
  const take = async (digest: string, found: KeptApproval): Promise<string | undefined> => {
    const { state, approval, answer } = found.record;
    if (state === "waiting" || answer === undefined || !(await records.remove(digest, found))) return undefined;
    if (state === "declined") throw declined(approval, answer);
    await tell("used", approval, answer.by);
    return answer.by;
  };

  /** Nobody waits any more. Another call that is the same asks anew. */
  const giveUp = async (digest: string): Promise<void> => {
    const found = await records.find(digest);
    if (found?.record.state !== "waiting") return;
    if (await records.remove(digest, found)) await tell("cancelled", found.record.approval);
  };

  /** Waits for a change of an approval. Rejects when the wait is over before. */
  const wait = async (digest: string, { approval }: ApprovalRecord, waiter: Waiter): Promise<void> => {
    const end = await waiter.next();
    if (end === "aborted") await giveUp(digest);
    if (end !== "changed") throw endOf(end, approval);
  };

  const approve = async (request: ApprovalRequest, waiter: Waiter): Promise<string> => {
    const { digest } = request;
    let onWaiting: (() => void) | undefined = request.onWaiting;
    for (;;) {
      const found = await records.find(digest);
      const by = found && (await take(digest, found));
      if (by !== undefined) return by;
      if (found === undefined) await ask(request);
      if (found?.record.state !== "waiting") continue;
      onWaiting?.();
      onWaiting = undefined;
      await wait(digest, found.record, waiter);
    }
  };

  return {
    async approve(request) {
      await feed.load();
      const waiter = createWaiter(request, clock, waitMs);
      waiters.add(waiter);
      try {
        return await approve(request, waiter);
      } finally {
        waiters.delete(waiter);
        waiter.close();
      }
    },
    list: records.waiting,
    async answer(id, answer) {
      const given = checkAnswer(answer);
      const digest = id.slice(0, Math.max(0, id.lastIndexOf(".")));
      const found = await records.find(digest);
      if (found?.record.state !== "waiting" || found.record.approval.id !== id) throw unknownApproval(id);
      const state = given.approved ? "approved" : "declined";
      if (!(await records.replace(digest, found, { ...found.record, state, answer: given }))) throw unknownApproval(id);
      await tell(state, found.record.approval, given.by);
    },
    changes(signal) {
      const changes = heard.listen(signal);
      feed.load().catch(() => heard.end());
      return changes;
    },
    async close() {
      heard.end();
      await (await feed.settled())?.close();
    },
  };
}

/** Wakes a call when something has happened to its approval. */
interface Waiter {
  readonly digest: string;
  wake(): void;
  /** Resolves at the next change, or when the wait is over. A change between two waits is not missed. */
  next(): Promise<"changed" | "aborted" | "late">;
  close(): void;
}

function createWaiter({ digest, signal }: ApprovalRequest, clock: Clock, waitMs: number): Waiter {
  let end: "aborted" | "late" | undefined;
  let isChanged = false;
  let resolve = (): void => {};
  const settle = (reason: "aborted" | "late"): void => {
    end ??= reason;
    resolve();
  };
  const abort = (): void => settle("aborted");
  const stop = clock.after(waitMs, () => settle("late"));
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  return {
    digest,
    wake() {
      isChanged = true;
      resolve();
    },
    async next() {
      if (end === undefined && !isChanged) await new Promise<void>((wake) => (resolve = wake));
      isChanged = false;
      return end ?? "changed";
    },
    close() {
      stop();
      signal.removeEventListener("abort", abort);
    },
  };
}

/** Reads what processes tell each other. After a gap, everybody looks again. */
async function follow(
  subscription: TopicSubscription,
  tell: (change: ApprovalChange) => void,
  waiters: ReadonlySet<Waiter>,
): Promise<void> {
  for await (const message of subscription) {
    const change: unknown = message.kind === "message" ? JSON.parse(message.text) : undefined;
    const known = isObject(change) ? (change as unknown as ApprovalChange) : undefined;
    for (const waiter of waiters) {
      if (known === undefined || known.approval.id.startsWith(`${waiter.digest}.`)) waiter.wake();
    }
    if (known !== undefined) tell(known);
  }
}

function checkAnswer({ approved, by, reason }: ApprovalAnswer): ApprovalAnswer {
  if (typeof approved !== "boolean") throw new McpError("invalid-params", "approved must be true or false");
  if (typeof by !== "string" || by === "") throw new McpError("invalid-params", "by must say who answers");
  return { approved, by, ...(reason !== undefined && { reason }) };
}

function declined({ name, rule }: PendingApproval, { reason }: ApprovalAnswer): McpError {
  const why = reason === undefined ? "" : `: ${reason}`;
  return new McpError("declined", `the call of ${name} was not approved${why}`, { data: { by: "approval", rule } });
}

function endOf(end: "aborted" | "late", { id, name, rule }: PendingApproval): McpError {
  if (end === "aborted")
    return new McpError("cancelled", `the call of ${name} was cancelled while it waited for approval`);
  const message = `the call of ${name} waits for approval (${rule}): make the same call again once it is approved`;
  return new McpError("denied", message, { data: { by: "approval", reason: "approval-pending", rule, id } });
}

function overrun(): McpError {
  return new McpError("limit-reached", `more than ${maxUnread} changes of approvals wait to be read`);
}
