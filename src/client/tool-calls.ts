import type { JsonObject } from "../json/json.ts";
import type { Connection } from "../protocol/connection.ts";
import { McpError } from "../protocol/errors.ts";
import type { Extensions } from "../protocol/peer.ts";
import { eraOf } from "../protocol/revision.ts";
import { type TaskTerms, tasksExtension } from "../protocol/task.ts";
import type { CallToolResult, Tool } from "../protocol/tool.ts";
import type { CachedCallOptions, ToolCallOptions } from "./call-options.ts";
import type { OutputChecks } from "./output-check.ts";
import type { ClientRequestHandlers } from "./request-handlers.ts";
import type { Calls, Requests } from "./requests.ts";

export interface ToolCallsOptions extends Pick<Calls, "call" | "list">, Pick<Requests, "send"> {
  readonly connection: Connection;
  readonly handlers: ClientRequestHandlers;
  readonly checks: OutputChecks;
  readonly checksOutput: boolean;
}

/** Calls and lists tools: the definition of a tool decides how it is called, and which results are valid. */
export interface ToolCalls {
  callTool(name: string, args?: JsonObject, options?: ToolCallOptions): Promise<CallToolResult>;
  listTools(options?: CachedCallOptions): Promise<readonly Tool[]>;
}

export function createToolCalls(options: ToolCallsOptions): ToolCalls {
  const { connection, handlers, send, call, list, checks, checksOutput } = options;
  const mayNeedTask = eraOf(connection.revision) === "legacy" && hasTasks(handlers) && hasTasks(connection.server);

  const callKnown: ToolCalls["callTool"] = (name, args, callOptions) => {
    const params = args === undefined ? { name } : { name, arguments: args };
    const result =
      mayNeedTask && checks.taskSupport(name) === "required"
        ? send("tools/call", params, callOptions, asTask)
        : call("tools/call", params, callOptions);
    if (!checksOutput || !checks.knows(name)) return result;
    return result.then((given) => checks.check(name, given));
  };

  const listTools: ToolCalls["listTools"] = async (given) => {
    const tools = await list("tools/list", (page) => page.tools, given);
    checks.learn(tools);
    return tools;
  };

  let learning: Promise<unknown> | undefined;
  /** Which tools must be run as tasks, only the list says. Without it, the server says what is wrong. */
  const learn = (): Promise<unknown> => {
    learning ??= listTools()
      .catch(() => undefined)
      .finally(() => {
        learning = undefined;
      });
    return learning;
  };

  return {
    callTool: (name, args, callOptions) => {
      if (typeof name !== "string") return Promise.reject(nameless());
      return mayNeedTask && !checks.hasLearned
        ? learn().then(() => callKnown(name, args, callOptions))
        : callKnown(name, args, callOptions);
    },
    listTools,
  };
}

/** The official client takes an object. */
function nameless(): McpError {
  return new McpError("invalid-params", "callTool takes the name of a tool first: callTool(name, arguments, options)");
}

function hasTasks({ capabilities }: { readonly capabilities: { readonly extensions?: Extensions } }): boolean {
  return capabilities.extensions?.[tasksExtension] !== undefined;
}

/** The task terms for a tool of 2025-11-25 that runs only as a task. */
const asTask: { readonly tasks: TaskTerms } = { tasks: { wanted: true } };
