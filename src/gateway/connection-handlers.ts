import type { ClientRequestHandlers } from "../client/request-handlers.ts";
import { wantedBy } from "../host/delivery.ts";
import type { ServerSlot } from "../host/server-slot.ts";
import { McpError } from "../protocol/errors.ts";
import type { Question, QuestionAnswer } from "../protocol/input.ts";
import type { ClientCapabilities } from "../protocol/peer.ts";
import type { CallOf } from "../protocol/service.ts";
import { tasksExtension } from "../protocol/task.ts";
import type { QuestionRun } from "../server/question-runs.ts";
import { type PendingTaskQuestions, taskOf } from "./task-questions.ts";

/** A call that uses a connection. */
export interface ConnectionUse {
  /** What the server asks is put to it. Undefined where the server asks by outcomes. */
  run: QuestionRun | undefined;
  /** True for a use that ends with the connection: nobody waits for its result. */
  isWatch: boolean;
  /** True where no other call may use the connection meanwhile: nobody could tell which of them the server asks. */
  readonly isAlone: boolean;
  /** The ids of the requests that the call was sent as. */
  readonly requestIds: Set<string | number>;
  /** Resolves when the call is over. */
  readonly over: Promise<undefined>;
}

/** What the caller can be asked, but for what the configuration says that the server may not ask. */
export function capabilitiesFor({ spec: { trust = {} } }: ServerSlot, { peer }: CallOf): ClientCapabilities {
  const { elicitation, sampling, roots, ...rest } = peer.capabilities;
  return {
    ...rest,
    ...(elicitation && trust.ask !== false && { elicitation }),
    ...(sampling && trust.sample !== false && { sampling }),
    ...(roots && trust.roots !== false && { roots }),
  };
}

export function canBeAsked({ elicitation, sampling, roots }: ClientCapabilities): boolean {
  return (elicitation ?? sampling ?? roots) !== undefined;
}

/**
 * What a server asks on a connection goes to the call whose response stream brought the question, else to the call that
 * began last there: all of them are of the same caller. Should that call end without an answer, another one is asked. Of
 * questions about tasks a caller of 2026-07-28 is told by the tasks.
 */
export function createHandlers(
  capabilities: ClientCapabilities,
  uses: ReadonlySet<ConnectionUse>,
  taskQuestions: PendingTaskQuestions | undefined,
): ClientRequestHandlers {
  const last = (): ConnectionUse | undefined => [...uses].findLast(({ run }) => run !== undefined);
  const useOf = (related: string | number | undefined): ConnectionUse | undefined =>
    (related === undefined ? undefined : [...uses].find(({ requestIds }) => requestIds.has(related))) ?? last();
  const extensions = { ...capabilities.extensions, [tasksExtension]: {} };
  const activity = { pending: 0, served: 0 };

  const ask = async (question: Question, related?: string | number): Promise<QuestionAnswer> => {
    const taskId = taskOf(question);
    if (taskId !== undefined && taskQuestions !== undefined && ![...uses].some(isFollowed))
      return taskQuestions.ask(taskId, question);
    for (;;) {
      const use = useOf(related);
      if (use?.run === undefined) {
        const message = `nobody can answer ${question.method}: no call of the caller is running`;
        throw new McpError("method-not-found", message);
      }
      const answer = await Promise.race([use.run.ask(question), use.over]);
      if (answer !== undefined) return answer;
    }
  };

  return {
    capabilities: { ...capabilities, extensions },
    isOpen: canBeAsked(capabilities),
    activity,
    handlesNotifications: true,
    request: undefined,
    async answer(question, _, related) {
      activity.pending++;
      try {
        return await ask(question, related);
      } finally {
        activity.pending--;
        activity.served++;
      }
    },
    onOtherNotification(method, params) {
      const run = last()?.run;
      if (run === undefined || method === "notifications/cancelled") return;
      void wantedBy(run.call.logLevel, (name, values) => run.notify(name, values))(method, params);
    },
    close: () => taskQuestions?.end(),
    setRoots() {},
  };
}

/** True for a call whose task is followed for its caller, who knows no tasks. */
function isFollowed({ run }: ConnectionUse): boolean {
  return run !== undefined && run.call.method === "tools/call" && run.call.tasks === undefined;
}
