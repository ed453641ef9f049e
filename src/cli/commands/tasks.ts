import type { DetailedTask, Task } from "../../protocol/task.ts";
import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { oneLine } from "../terminal/printable.ts";
import { UsageError } from "../usage-error.ts";
import { formatContent } from "../values/format-content.ts";
import { formatValue } from "../values/format-value.ts";
import { formatTable } from "../values/table.ts";

export const command: Command = defineCommand({
  name: "tasks",
  usage: ["<target>", "<target> <id>", "<target> <id> --wait", "<target> <id> --cancel"],
  description:
    "Lists the tasks of a server, shows one, waits for its result or cancels it. plugbay call --task starts one. Only servers\n" +
    "of revision 2025-11-25 can list tasks. The exit code of --wait is that of the call: 1 when the task failed.",
  target: "one",
  maxArguments: 1,
  options: {
    wait: { type: "flag", meaning: "wait for the result, and show it" },
    cancel: { type: "flag", meaning: "cancel the task" },
    save: { type: "text", value: "folder", meaning: "save images, sounds and other data into this folder" },
  },
  examples: [
    { line: "plugbay tasks https://example.com/mcp", does: "all tasks" },
    { line: "plugbay tasks shop 3f2a --wait", does: "the result of one, when it is there" },
    { line: "plugbay tasks shop 3f2a --cancel", does: "end one" },
  ],
  async run(context) {
    const { args, options, signal } = context;
    const [id] = args;
    if (id === undefined && (options.wait || options.cancel)) throw new UsageError("give the id of a task");
    const { client } = await context.openTarget();
    if (id === undefined) {
      const tasks = await client.tasks.list({ signal });
      context.print({ tasks }, () => formatTasks(tasks, context));
      return undefined;
    }
    const handle = await client.tasks.resume(id);
    if (options.cancel) await handle.cancel({ signal });
    if (!options.wait) {
      const task = await handle.status({ signal });
      context.print(task, () => formatTask(task));
      return undefined;
    }
    const result = await handle.result({ signal });
    const { content, structuredContent } = result;
    const text = context.json
      ? ""
      : structuredContent === undefined
        ? await formatContent(content, context, options.save)
        : formatValue(structuredContent, context.columns);
    context.print(result, () => text);
    return result.isError === true ? 1 : 0;
  },
});

function formatTasks(tasks: readonly Task[], { columns, style }: CommandContext): string {
  if (tasks.length === 0) return "no tasks";
  return formatTable(
    tasks.map(({ taskId, status, lastUpdatedAt, statusMessage = "" }) => [
      style.cyan(oneLine(taskId)),
      status,
      oneLine(lastUpdatedAt),
      style.dim(oneLine(statusMessage)),
    ]),
    columns,
  );
}

function formatTask({ taskId, status, createdAt, lastUpdatedAt, ttlMs, statusMessage }: DetailedTask): string {
  return formatTable([
    ["task", oneLine(taskId)],
    ["status", status],
    ...(statusMessage === undefined ? [] : [["says", oneLine(statusMessage)]]),
    ["created", oneLine(createdAt)],
    ["updated", oneLine(lastUpdatedAt)],
    ["kept", ttlMs === null ? "for ever" : `${ttlMs} ms from its creation on`],
  ]);
}
