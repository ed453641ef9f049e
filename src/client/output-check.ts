import type { JsonObject } from "../json/json.ts";
import { McpError } from "../protocol/errors.ts";
import type { CallToolResult, Tool } from "../protocol/tool.ts";
import { toProvedValidator } from "../schema/to-validator.ts";
import type { Checked, Issue, Validator } from "../schema/validator.ts";
import { quote } from "../std/text.ts";
import type { Warn } from "./warning.ts";

/** How the tools of a 2025-11-25 server can be called. */
type TaskSupport = "optional" | "required";

/** The tools of one server by name: their output schemas, and whether they run as tasks. */
export interface OutputChecks {
  /** Takes a complete list of tools. */
  learn(tools: readonly Tool[]): void;
  /** True when results of the tool can be checked. */
  knows(name: string): boolean;
  /**
   * The result itself when it is what the tool promised. Throws or rejects with
   * `invalid-response` when it is not; `data` lists the issues. Results that
   * report a failure promise nothing.
   */
  check(name: string, result: CallToolResult): CallToolResult | Promise<CallToolResult>;
  /** False when there was no list yet, or the tools have changed since. */
  readonly hasLearned: boolean;
  /** Undefined when the tool is not known to run as a task. */
  taskSupport(name: string): TaskSupport | undefined;
  /** The tools have changed: what was known may be wrong. */
  forget(): void;
}

type Check = (result: CallToolResult) => CallToolResult | Promise<CallToolResult>;

interface Known {
  readonly schema: JsonObject;
  /** How to check, once it is known. */
  check?: Check;
  /** Becomes `check`; started when it is first needed. */
  reading?: Promise<Check>;
}

/** Checks by the output schemas in tool lists. A schema is read once; what it refers to is never fetched. */
export function createOutputChecks(warn: Warn): OutputChecks {
  let known = new Map<string, Known>();
  let tasks = new Map<string, TaskSupport>();
  let hasLearned = false;

  const readThenCheck = async (entry: Known, name: string, result: CallToolResult): Promise<CallToolResult> => {
    entry.reading ??= readCheck(name, entry.schema, warn);
    entry.check = await entry.reading;
    return entry.check(result);
  };

  return {
    learn(tools) {
      const entries = tools.flatMap(({ name, outputSchema }) =>
        outputSchema === undefined ? [] : [[name, remember(known.get(name), outputSchema)] as const],
      );
      known = new Map(entries);
      tasks = new Map(tools.flatMap(supportOf));
      hasLearned = true;
    },
    knows: (name) => known.has(name),
    check(name, result) {
      const entry = known.get(name);
      if (entry === undefined || result.isError === true) return result;
      return entry.check === undefined ? readThenCheck(entry, name, result) : entry.check(result);
    },
    get hasLearned() {
      return hasLearned;
    },
    taskSupport: (name) => tasks.get(name),
    forget() {
      known.clear();
      tasks.clear();
      hasLearned = false;
    },
  };
}

function remember(before: Known | undefined, schema: JsonObject): Known {
  return before?.schema === schema ? before : { schema };
}

function supportOf(tool: Tool): readonly (readonly [name: string, support: TaskSupport])[] {
  const support = tool.execution?.taskSupport;
  return support === "optional" || support === "required" ? [[tool.name, support]] : [];
}

async function readCheck(name: string, schema: JsonObject, warn: Warn): Promise<Check> {
  const read = await toProvedValidator(schema);
  if (read.ok) return (result) => checkWith(read.value, name, result);
  warn({ kind: "output-unchecked", message: `results of tool ${quote(name)} are not checked: ${read.problem}` });
  return (result) => result;
}

function checkWith(
  validator: Validator,
  name: string,
  result: CallToolResult,
): CallToolResult | Promise<CallToolResult> {
  if (result.structuredContent === undefined) {
    throw new McpError(
      "invalid-response",
      `tool ${quote(name)} promised structured content and gave none; ${unchecked}`,
    );
  }
  const checked = validator.check(result.structuredContent);
  return checked instanceof Promise
    ? checked.then((later) => accept(later, name, result))
    : accept(checked, name, result);
}

function accept(checked: Checked, name: string, result: CallToolResult): CallToolResult {
  if (checked.ok) return result;
  throw breach(`structured content of tool ${quote(name)} does not match its output schema`, checked.issues);
}

/** What to do about it. */
const unchecked = "tell the author of the server, or take it as it comes with checkOutput: false";

/** The error of a value that is not what its schema promised. The message names the first issue, `data` lists all. */
export function breach(what: string, issues: readonly Issue[]): McpError {
  const [first] = issues;
  const where = first === undefined ? "" : `: ${[first.path, first.message].filter(Boolean).join(" ")}`;
  const data = { issues: issues.map(({ path, keyword, message }) => ({ path, keyword, message })) };
  return new McpError("invalid-response", `${what}${where}`, { data });
}
