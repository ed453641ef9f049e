import { describe, isRefused, textOf } from "../messages.mjs";
import { gotThrough, held, judge, notApplicable } from "../verdicts.mjs";

// Tasks, read, answered, cancelled or crowded out by somebody else.

export const taskAttacks = [
  {
    id: "foreign-task",
    covers: ["S6", "S7", "V7"],
    title: "reads, answers, lists and cancels a task of another principal",
    needs: ["task", "second"],
    async run({ first, second, uses, target }) {
      const problems = [];
      let tried = 0;
      for (const kind of kinds(target)) {
        const task = await kind.start(second, uses.task);
        if (task === undefined) continue;
        tried++;
        problems.push(...(await kind.touch(first, task)).map((problem) => `${kind.name}: ${problem}`));
        if (!(await kind.isAlive(task))) problems.push(`${kind.name}: the task is not there for its owner any more`);
        await kind.cancel(task);
      }
      return tried === 0 ? noTask(uses.task) : judge(problems, "every use was refused, and the task went on");
    },
  },
  {
    id: "weaker-token",
    covers: ["S6"],
    title: "reads, answers, lists and cancels a task with a token that may not call its tool",
    needs: ["scoped-task", "weak"],
    async run({ first, weak, uses, target }) {
      const use = uses["scoped-task"];
      const problems = [];
      let tried = 0;
      for (const kind of kinds(target)) {
        if ((await kind.start(weak, use)) !== undefined) return notApplicable(`the weaker token may call ${use.name}`);
        const task = await kind.start(first, use);
        if (task === undefined) continue;
        tried++;
        problems.push(...(await kind.touch(weak, task)).map((problem) => `${kind.name}: ${problem}`));
        if (!(await kind.isAlive(task))) problems.push(`${kind.name}: the task is not there for its owner any more`);
        await kind.cancel(task);
      }
      return tried === 0 ? noTask(use) : judge(problems, "every use was refused, and the task went on");
    },
  },
  {
    id: "many-tasks",
    covers: ["S9", "V25"],
    title: "starts 150 tasks that wait",
    needs: ["modern", "task", "second"],
    async run({ first, second, uses }) {
      const started = [];
      for (let n = 0; n < 150; n++) {
        const task = await modernTasks.start(first, uses.task);
        if (task === undefined) break;
        started.push(task);
      }
      if (started.length === 0) return noTask(uses.task);
      const other = await modernTasks.start(second, uses.task);
      for (const task of [...started, other]) if (task !== undefined) await modernTasks.cancel(task);
      const evidence = `the first principal got ${started.length} tasks`;
      return other === undefined
        ? gotThrough(`${evidence}, and the second none`)
        : held(`${evidence}, and the second got one`);
    },
  },
];

/** Tasks of the extension to 2026-07-28. */
const modernTasks = {
  name: "2026-07-28",
  async start(owner, { name, args }) {
    const { result } = await owner.modern("tools/call", { name, arguments: args });
    return result?.taskId === undefined ? undefined : { owner, taskId: result.taskId };
  },
  async touch(stranger, { taskId }) {
    const problems = [];
    const tried = {
      "tasks/get": { taskId },
      "tasks/update": { taskId, inputResponses: {} },
      "tasks/cancel": { taskId },
    };
    for (const [method, params] of Object.entries(tried)) {
      const answer = await stranger.modern(method, params);
      if (!isRefused(answer)) problems.push(`${method}: ${describe(answer)}`);
    }
    const stream = await stranger.modernStream("subscriptions/listen", { notifications: { taskIds: [taskId] } });
    const accepted = await stream.find(({ method }) => method === "notifications/subscriptions/acknowledged", 1_500);
    if (JSON.stringify(accepted ?? "").includes(taskId)) problems.push("a subscription to it was accepted");
    stream.close();
    return problems;
  },
  async isAlive({ owner, taskId }) {
    const { result } = await owner.modern("tasks/get", { taskId });
    return result !== undefined && result.status !== "cancelled";
  },
  cancel: ({ owner, taskId }) => owner.modern("tasks/cancel", { taskId }),
};

/** Tasks of 2025-11-25. */
const sessionTasks = {
  name: "2025-11-25",
  async start(owner, { name, args }) {
    const session = await owner.openSession();
    const answer = await session?.call("tools/call", { name, arguments: args, task: { ttl: 60_000 } });
    const taskId = answer?.result?.task?.taskId;
    if (taskId === undefined) await session?.end();
    return taskId === undefined ? undefined : { session, taskId };
  },
  async touch(stranger, { taskId }) {
    const own = await stranger.openSession();
    if (own === undefined) return [];
    const problems = [];
    for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
      const answer = await own.call(method, { taskId }, { timeoutMs: 3_000 });
      if (!isRefused(answer)) problems.push(`${method}: ${describe(answer)} ${textOf(answer.result)}`.trimEnd());
    }
    const listed = await own.call("tasks/list", {});
    if (JSON.stringify(listed.result ?? "").includes(taskId)) problems.push("tasks/list shows it");
    await own.end();
    return problems;
  },
  async isAlive({ session, taskId }) {
    const { result } = await session.call("tasks/get", { taskId });
    return result !== undefined && result.status !== "cancelled";
  },
  async cancel({ session, taskId }) {
    await session.call("tasks/cancel", { taskId });
    await session.end();
  },
};

function kinds({ isModern, hasSessions }) {
  return [...(isModern ? [modernTasks] : []), ...(hasSessions ? [sessionTasks] : [])];
}

function noTask({ name }) {
  return notApplicable(`a call of ${name} became no task`);
}
