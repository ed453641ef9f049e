import type { CommandGroup, CommandRow } from "./command.ts";

/**
 * The commands of `plugbay`, in the order of the help.
 *
 * To add a command:
 *
 * 1. Write `commands/<name>.ts`, which exports `command`, made by `defineCommand` of `command.ts`: its name, usage,
 *    description, options, at least two examples, and `run(context)`.
 * 2. Add its row here. The row has what the help of all commands shows; the file is loaded when the command is used.
 * 3. Test it as a real process beside the others in `test/cli`, and add it to `docs/cli.md`. Tests compare both with
 *    this table.
 *
 * In `run`:
 *
 * - Take everything from the context: streams, folder, environment, options, `openTarget()`. Nothing has to be closed
 *   that the context opened.
 * - Pass `context.signal` to whatever takes time. At the first Ctrl-C it aborts and the command has a moment to end; the
 *   exit code is then 130. A second Ctrl-C ends the process at once.
 * - Write results by `context.print(value, toText)`: one JSON value with `--json`, else text. Whatever a server said goes
 *   through `printable` or `oneLine` of `terminal/printable.ts` before it is text.
 * - Write everything else by `context.say` or `context.live`, to stderr.
 * - Throw an `McpError`, whose code gives the exit code, or a `UsageError` with what to type instead. Return a code only
 *   for a failure that was printed as a result, such as a tool that reports `isError`.
 * - Ask only where `context.canAsk`, by `terminal/questions.ts`; without it, throw an error that names the option to give.
 * - Load what only this command needs by a static import in its file, and what it rarely needs by `import()`.
 */
export const commandRows: readonly CommandRow[] = [
  {
    name: "list",
    group: "Use servers",
    summary: "list the servers of the configuration files",
    load: () => import("./commands/list.ts"),
  },
  {
    name: "tools",
    group: "Use servers",
    summary: "list the tools of a server, or show one",
    load: () => import("./commands/tools.ts"),
  },
  {
    name: "call",
    group: "Use servers",
    summary: "call a tool",
    load: () => import("./commands/call.ts"),
  },
  {
    name: "resources",
    group: "Use servers",
    summary: "list the resources of a server",
    load: () => import("./commands/resources.ts"),
  },
  {
    name: "read",
    group: "Use servers",
    summary: "read a resource",
    load: () => import("./commands/read.ts"),
  },
  {
    name: "prompts",
    group: "Use servers",
    summary: "list the prompts of a server",
    load: () => import("./commands/prompts.ts"),
  },
  {
    name: "prompt",
    group: "Use servers",
    summary: "get a prompt",
    load: () => import("./commands/prompt.ts"),
  },
  {
    name: "skills",
    group: "Use servers",
    summary: "list the skills of a server, or show one",
    load: () => import("./commands/skills.ts"),
  },
  {
    name: "complete",
    group: "Use servers",
    summary: "ask which values an argument may have",
    load: () => import("./commands/complete.ts"),
  },
  {
    name: "watch",
    group: "Use servers",
    summary: "tell when lists or a resource change",
    load: () => import("./commands/watch.ts"),
  },
  {
    name: "tasks",
    group: "Use servers",
    summary: "list, show, await or cancel tasks",
    load: () => import("./commands/tasks.ts"),
  },
  {
    name: "ping",
    group: "Use servers",
    summary: "ask a server whether it is there",
    load: () => import("./commands/ping.ts"),
  },
  {
    name: "shell",
    group: "Use servers",
    summary: "run many commands over one connection",
    load: () => import("./commands/shell.ts"),
  },
  {
    name: "warm",
    group: "Use servers",
    summary: "show and end the servers that --warm keeps up",
    load: () => import("./commands/warm.ts"),
  },
  {
    name: "doctor",
    group: "Find out",
    summary: "say why a server cannot be used, and what could be better",
    load: () => import("./commands/doctor.ts"),
  },
  {
    name: "diff",
    group: "Find out",
    summary: "compare two servers, or a server with a lock file",
    load: () => import("./commands/diff.ts"),
  },
  {
    name: "test",
    group: "Find out",
    summary: "run the calls of a file and compare the results",
    load: () => import("./commands/test.ts"),
  },
  {
    name: "conform",
    group: "Find out",
    summary: "run the official conformance suite against a server",
    load: () => import("./commands/conform.ts"),
  },
  {
    name: "bench",
    group: "Find out",
    summary: "measure how fast a tool answers",
    load: () => import("./commands/bench.ts"),
  },
  {
    name: "record",
    group: "Find out",
    summary: "record what passes between plugbay and a server",
    load: () => import("./commands/record.ts"),
  },
  {
    name: "replay",
    group: "Find out",
    summary: "answer as a recorded server did, or repeat what was asked",
    load: () => import("./commands/replay.ts"),
  },
  {
    name: "tee",
    group: "Find out",
    summary: "write down what passes between a host and a stdio server",
    load: () => import("./commands/tee.ts"),
  },
  {
    name: "init",
    group: "Set up",
    summary: "make a project with a server and tests",
    load: () => import("./commands/init.ts"),
  },
  {
    name: "serve",
    group: "Set up",
    summary: "serve what a file exports, on stdio or at a URL",
    load: () => import("./commands/serve.ts"),
  },
  {
    name: "dev",
    group: "Set up",
    summary: "serve a file at a URL while it is written",
    load: () => import("./commands/dev.ts"),
  },
  {
    name: "add",
    group: "Set up",
    summary: "write a server into a configuration file",
    load: () => import("./commands/add.ts"),
  },
  {
    name: "remove",
    group: "Set up",
    summary: "take a server out of a configuration file",
    load: () => import("./commands/remove.ts"),
  },
  {
    name: "install",
    group: "Set up",
    summary: "write a server of yours into the file of an editor",
    load: () => import("./commands/install.ts"),
  },
  {
    name: "undo",
    group: "Set up",
    summary: "take the last change of a configuration file back",
    load: () => import("./commands/undo.ts"),
  },
  {
    name: "pack",
    group: "Set up",
    summary: "write what registries and bundles need of a project",
    load: () => import("./commands/pack.ts"),
  },
  {
    name: "types",
    group: "Set up",
    summary: "write TypeScript types of the tools of servers",
    load: () => import("./commands/types.ts"),
  },
  {
    name: "config",
    group: "Set up",
    summary: "show configuration files, and explain what they say",
    load: () => import("./commands/config.ts"),
  },
  {
    name: "gateway",
    group: "Serve many",
    summary: "serve all servers of configuration files as one",
    load: () => import("./commands/gateway.ts"),
  },
  {
    name: "login",
    group: "Sign in",
    summary: "sign in to a server",
    load: () => import("./commands/login.ts"),
  },
  {
    name: "logout",
    group: "Sign in",
    summary: "sign out of a server",
    load: () => import("./commands/logout.ts"),
  },
  {
    name: "whoami",
    group: "Sign in",
    summary: "say how you are signed in to a server",
    load: () => import("./commands/whoami.ts"),
  },
  {
    name: "lock",
    group: "Approve",
    summary: "write a lock file of what servers are now",
    load: () => import("./commands/lock.ts"),
  },
  {
    name: "approve",
    group: "Approve",
    summary: "approve servers as they are now",
    load: () => import("./commands/approve.ts"),
  },
  {
    name: "check",
    group: "Approve",
    summary: "compare servers with what was approved",
    load: () => import("./commands/check.ts"),
  },
  {
    name: "completion",
    group: "Other",
    summary: "write a script that completes commands in a shell",
    load: () => import("./commands/completion.ts"),
  },
  {
    name: "run-file",
    group: "Other",
    summary: "serve what a file exports on stdio",
    load: () => import("./commands/run-file.ts"),
    hidden: true,
  },
  {
    name: "warm-keep",
    group: "Other",
    summary: "keep a server up between commands",
    load: () => import("./commands/warm-keep.ts"),
    hidden: true,
  },
];

/** The groups in the order of the help. */
export const commandGroups: readonly CommandGroup[] = [
  "Use servers",
  "Find out",
  "Set up",
  "Serve many",
  "Sign in",
  "Approve",
  "Other",
];
