import { aListOf, type Problem } from "../json/check.ts";
import { isObject, type Json, type JsonObject } from "../json/json.ts";
import type { Content } from "../protocol/content.ts";
import { type Failure, McpError, toFailure } from "../protocol/errors.ts";
import type { Result } from "../protocol/methods.ts";
import { checkOptionNames, type OptionNames, type OtherNames } from "../protocol/option-names.ts";
import { newest } from "../protocol/revision.ts";
import { hasScopes } from "../protocol/scopes.ts";
import type { Call, Outcome } from "../protocol/service.ts";
import type { CallToolParams, CallToolResult, Tool } from "../protocol/tool.ts";
import { lazyCompiler } from "../schema/to-validator.ts";
import type { Checked, Issue, Validator } from "../schema/validator.ts";
import { defined } from "../std/defined.ts";
import type { HttpRequestInfo } from "../std/http-request-info.ts";
import { lazy } from "../std/lazy.ts";
import { checkAccess, forbidden, visibility } from "./access.ts";
import { aBlock, isBlockLike, isBytes, NOT_BYTES } from "./content.ts";
import { RunContext } from "./context.ts";
import {
  badDefinition,
  describe,
  howToWrap,
  issueText,
  type OwnedSchema,
  type Provable,
  readSchema,
} from "./definition.ts";
import type { Environment } from "./environment.ts";
import { isForReader } from "./error-reporter.ts";
import { createRegistry, type Registry } from "./registry.ts";
import type { Execution, Job } from "./runs/execution.ts";
import type { TaskManager } from "./tasks/task-manager.ts";
import type { TaskMode } from "./tasks/task-record.ts";
import type { Prepared } from "./tasks/task-run.ts";
import type { ToolDefinition } from "./tool.ts";

/** A tool that is ready to be called. */
export interface ReadyTool {
  readonly name: string;
  readonly definition: ToolDefinition;
  /** What lists show. */
  readonly listed: Tool;
  readonly input: OwnedSchema | undefined;
  readonly output: OwnedSchema | undefined;
  /** Arguments that headers repeat, where there are some. */
  readonly repeated: RepeatedParams | undefined;
  /** What has to be looked at more closely. */
  readonly schemas: readonly (Provable | undefined)[];
  readonly timeoutMs: number;
  readonly task: TaskMode;
}

/** The tools of a server. */
export interface ToolBox extends Registry<ReadyTool, Result<"tools/list">> {
  define(name: string, definition: ToolDefinition): void;
  call(call: Call<"tools/call">): Outcome<"tools/call"> | Promise<Outcome<"tools/call">>;
  /** True once there was a tool that may run as a task. */
  hasTasks(): boolean;
  /** The job of a task that began elsewhere. Undefined when no tool here can continue it. */
  prepare(params: CallToolParams): Promise<Prepared | undefined>;
}

interface ToolBoxOptions {
  readonly env: Environment;
  onChange(): void;
  /** Loaded for the first call that may become a task. */
  tasks(): Promise<TaskManager>;
}

export function createToolBox({ env, onChange, tasks }: ToolBoxOptions): ToolBox {
  let hasTasks = false;
  const registry = createRegistry<ReadyTool, Result<"tools/list">>({
    noun: "tool",
    member: "tools",
    env,
    onChange,
  });

  const proceed = (tool: ReadyTool, call: Call<"tools/call">, checked: Checked) => {
    if (!checked.ok) return refuse(tool, checked.issues, env);
    const job = new ToolJob(tool, checked.value, env);
    if (tool.task === "never" || call.tasks === undefined) return env.runner.run(call, job) as Outcome<"tools/call">;
    return tasks().then((it) => it.call(call, job, tool.task));
  };

  const check = (tool: ReadyTool, call: Call<"tools/call">, input: JsonObject) => {
    const checked = tool.input === undefined ? { ok: true as const, value: input } : tool.input.check(input);
    return checked instanceof Promise
      ? checked.then((settled) => proceed(tool, call, settled))
      : proceed(tool, call, checked);
  };

  const callVisible = (tool: ReadyTool, call: Call<"tools/call">) => {
    const { scopes } = tool.definition;
    if (scopes !== undefined && !hasScopes(call.peer.auth, scopes)) return forbidden(`tool ${tool.name}`, scopes);
    const { repeated, task } = tool;
    const { arguments: input = {} } = call.params;
    if (hasTasks && (task === "never" ? call.tasks?.wanted : task === "required" && call.tasks === undefined)) {
      return tasks().then((it) => it.refuse(call, tool.task));
    }
    if (repeated !== undefined && call.http !== undefined && call.peer.revision === newest) {
      return repeated
        .problem(input, call.http)
        .then((problem) => (problem === undefined ? check(tool, call, input) : mismatch(problem)));
    }
    return check(tool, call, input);
  };

  return {
    ...registry,
    hasTasks: () => hasTasks,
    async prepare({ name, arguments: input = {} }) {
      const tool = registry.get(name);
      if (tool === undefined || tool.task === "never") return undefined;
      const checked = tool.input === undefined ? { ok: true as const, value: input } : await tool.input.check(input);
      if (!checked.ok) return { kind: "over", outcome: refuse(tool, checked.issues, env) };
      return { kind: "job", job: new ToolJob(tool, checked.value, env) };
    },
    define(name, definition) {
      const tool = readyTool(name, definition, env);
      registry.add(name, tool);
      if (tool.task === "never") return;
      hasTasks = true;
      if (env.isShared) void tasks().then((it) => it.begin());
    },
    call(call) {
      const { name } = call.params;
      const tool = registry.get(name);
      if (tool === undefined) return unknownTool(name);
      const { visible } = tool.definition;
      if (visible === undefined) return callVisible(tool, call);
      const seen = () => callVisible(tool, call);
      return visibility
        .load()
        .then((it) => it.ifVisible(call, visible, env, { seen, unseen: () => unknownTool(name) }));
    },
  };
}

const toolName = /^[A-Za-z0-9_.-]{1,128}$/;

/** Checks a definition once, so that a bad one fails at start and names the tool. */
function readyTool(name: string, definition: ToolDefinition, env: Environment): ReadyTool {
  const owner = `tool ${name}`;
  if (!toolName.test(name)) throw badDefinition(owner, "its name must be 1 to 128 of A-Z a-z 0-9 _ . -");
  if (!isObject(definition)) throw badDefinition(owner, "it must be an object with run");
  checkOptionNames(`tool "${name}"`, definition, toolOptions, otherNames);
  const { annotations, timeoutMs = env.timeoutMs, task = "never" } = definition;
  if (typeof definition.run !== "function") throw badDefinition(owner, "run must be a function");
  checkAccess(owner, definition);
  if (!/^(auto|required|never)$/.test(task)) throw badDefinition(owner, "task must be auto, required or never");
  const { trustPatterns } = env;
  const input = readSchema(`${owner}: input`, definition.input, { trustPatterns });
  const output = readSchema(`${owner}: output`, definition.output, { direction: "output", trustPatterns });
  if (input !== undefined && input.json.type !== "object") {
    throw badDefinition(owner, `input must have "type": "object" at its root${howToWrap(definition.input)}`);
  }
  const listed: Tool = Object.freeze({
    name,
    ...describe(owner, definition),
    inputSchema: input?.json ?? { type: "object" },
    ...defined({ outputSchema: output?.json, annotations }),
    ...(task !== "never" && { execution: { taskSupport: task === "auto" ? ("optional" as const) : task } }),
  });
  const repeated = input === undefined ? undefined : repeatedParams(input.owner, input.json);
  return { name, definition, listed, input, output, repeated, schemas: [input, output, repeated], timeoutMs, task };
}

const toolOptions: OptionNames<Omit<ToolDefinition, "~types">> = {
  title: true,
  description: true,
  icons: true,
  annotations: true,
  meta: true,
  scopes: true,
  visible: true,
  timeoutMs: true,
  task: true,
  input: true,
  output: true,
  run: true,
};

const otherNames: OtherNames = { parameters: "input", handler: "run", execute: "run", callback: "run", cb: "run" };

/** One call of one tool. */
class ToolJob implements Job {
  readonly timeoutMs: number;
  readonly #tool: ReadyTool;
  readonly #input: unknown;
  readonly #env: Environment;
  #execution: Execution | undefined;

  constructor(tool: ReadyTool, input: unknown, env: Environment) {
    this.timeoutMs = tool.timeoutMs;
    this.#tool = tool;
    this.#input = input;
    this.#env = env;
  }

  get scopes(): readonly string[] | undefined {
    return this.#tool.definition.scopes;
  }

  get taskTimeoutMs(): number {
    return this.#tool.definition.timeoutMs ?? 0;
  }

  start(execution: Execution): unknown {
    this.#execution = execution;
    return this.#tool.definition.run(this.#input, new RunContext(execution, this.#env));
  }

  finish(value: unknown): Outcome<"tools/call"> | Promise<Outcome<"tools/call">> {
    const { output } = this.#tool;
    const full = asResult(value, output !== undefined);
    const problem = full !== undefined ? resultProblem(full) : output === undefined ? returnProblem(value) : undefined;
    if (problem !== undefined) return this.#broken(`malformed content: result${problem}`);
    if (output !== undefined && full?.isError !== true) {
      return this.#checked(output, full === undefined ? value : full.structuredContent, full);
    }
    return complete(full === undefined ? toResult(value) : withContent(full));
  }

  /** What the model can act on is a result; everything else fails the call. */
  fail(error: unknown): Outcome<"tools/call"> {
    if (error instanceof McpError && isForReader(error)) return toToolError(error, error.message, error.data);
    const failure = this.#failureOf(error);
    if (error instanceof McpError && failure.code === error.code) return { kind: "failed", failure, cause: error };
    return toToolError(error, failure.message);
  }

  #checked(output: Validator, value: unknown, full: FullResult | undefined) {
    const checked = output.check(value);
    if (checked instanceof Promise) return checked.then((settled) => this.#structured(settled, full));
    return this.#structured(checked, full);
  }

  #structured(checked: Checked, full: FullResult | undefined): Outcome<"tools/call"> {
    if (checked.ok) return complete(structured(checked.value, full));
    return this.#broken(`what its output schema forbids: ${issueText(checked.issues)}`);
  }

  /** An invalid output is an error of the server, which the model cannot correct. */
  #broken(what: string): Outcome<"tools/call"> {
    const error = new Error(`tool ${this.#tool.name} returned ${what}`);
    return { kind: "failed", failure: this.#failureOf(error), cause: error };
  }

  #failureOf(error: unknown): Failure {
    return this.#env.errors.failureOf(error, "tools/call", this.#tool.name, this.#execution?.call);
  }
}

/** Invalid arguments become a message for the model, which can correct them. */
function refuse({ name }: ReadyTool, issues: readonly Issue[], env: Environment): Outcome<"tools/call"> {
  const text = `invalid arguments for ${name}: ${issueText(issues)}`;
  const data = issues as unknown as Json;
  if (env.inputErrors === "protocol") {
    const [{ path, keyword, message } = { path: "", keyword: "", message: "" }] = issues;
    const failure = toFailure(new McpError("invalid-params", text, { data: { path, keyword, message, issues: data } }));
    return { kind: "failed", failure };
  }
  return complete({ content: [{ type: "text", text }], isError: true, _meta: { "plugbay/issues": data } });
}

function unknownTool(name: string): Outcome<"tools/call"> {
  return { kind: "failed", failure: { code: "invalid-params", message: `unknown tool ${name}`, data: { name } } };
}

/** A proxy that reads only headers must not see another call than the tool. */
function mismatch(message: string): Outcome<"tools/call"> {
  return { kind: "failed", failure: { code: "header-mismatch", message } };
}

function complete(result: CallToolResult): Outcome<"tools/call"> {
  return { kind: "complete", result };
}

/** The arguments of a tool that HTTP headers repeat. */
interface RepeatedParams extends Provable {
  /** Why the headers of a call say something else than its arguments, if so. */
  problem(args: JsonObject, http: HttpRequestInfo): Promise<string | undefined>;
}

/** Undefined for a schema without such arguments. What reads them is loaded only where there are some. */
function repeatedParams(owner: string, schema: JsonObject): RepeatedParams | undefined {
  if (!JSON.stringify(schema).includes('"x-mcp-header"')) return undefined;
  const check = lazy(lazyCompiler.load, ({ createHeaderCheck }) => createHeaderCheck(schema));
  return {
    owner,
    prove: async () => (await check.load()).problem,
    problem: async (args, http) => (await check.load()).mismatch(args, (name) => http.header(name)),
  };
}

/** A result that a tool has made itself. */
type FullResult = Partial<CallToolResult>;

/**
 * The result in a value, if it is meant as a result: it has structured content, or content and an error. Without an
 * output schema, an array of blocks is enough.
 */
function asResult(value: unknown, hasOutput: boolean): FullResult | undefined {
  if (!isObject(value)) return undefined;
  const { content, isError } = value;
  const isResult = Array.isArray(content)
    ? isError === true || "structuredContent" in value || (!hasOutput && areBlockLike(content))
    : "structuredContent" in value && Object.keys(value).every((name) => members.has(name));
  return isResult ? withoutFalseError(value as FullResult) : undefined;
}

const members: ReadonlySet<string> = new Set(["content", "structuredContent", "isError", "_meta"]);

function areBlockLike(values: readonly unknown[]): boolean {
  return values.length === 0 || values.some(isBlockLike);
}

/** `isError` is there when it is true, and only then. */
function withoutFalseError(result: FullResult): FullResult {
  if (!("isError" in result) || result.isError === true) return result;
  const { isError: _, ...rest } = result;
  return rest;
}

/** What is wrong with the content of a result. */
function resultProblem({ content }: FullResult): Problem {
  const problem = content === undefined ? undefined : blocks(content as unknown as Json);
  return problem && `.content${problem}`;
}

/** The problem with the output of a tool without an output schema: malformed content, or a value that is not JSON. */
function returnProblem(value: unknown): Problem {
  if (typeof value !== "object" || value === null) return undefined;
  if (isBytes(value)) return ` must be JSON${NOT_BYTES}`;
  if (Array.isArray(value)) return value.some(isBlockLike) ? blocks(value) : undefined;
  if (isBlockLike(value)) return aBlock(value as Json);
  for (const [name, member] of Object.entries(value)) if (isBytes(member)) return `.${name} must be JSON${NOT_BYTES}`;
  return undefined;
}

const blocks = aListOf(aBlock);

/** The result for a plain value. */
function toResult(value: unknown): CallToolResult {
  if (typeof value === "string") return { content: [{ type: "text", text: value }] };
  if (value === undefined) return { content: [] };
  if (isBlockLike(value)) return { content: [value as Content] };
  if (Array.isArray(value) && value.some(isBlockLike)) return { content: value };
  if (typeof value === "object" && value !== null) return structured(value);
  if (typeof value === "function" || typeof value === "symbol") throw new Error(`a tool returned a ${typeof value}`);
  return { content: [{ type: "text", text: String(value) }] };
}

/** Clients that do not read structured content get its text, unless the tool returned text itself. */
function structured(value: unknown, full?: FullResult): CallToolResult {
  const structuredContent = value as Json;
  if (full?.content !== undefined && full.content.length > 0) {
    return { ...full, content: full.content, structuredContent };
  }
  const text = JSON.stringify(value) ?? "null";
  return { ...full, content: [{ type: "text", text }], structuredContent };
}

/** A result that a tool has made itself, with content. */
function withContent(full: FullResult): CallToolResult {
  return full.content === undefined ? structured(full.structuredContent, full) : (full as CallToolResult);
}

/** The model reads what went wrong; this process knows the error. */
function toToolError(error: unknown, text: string, data?: Json): Outcome<"tools/call"> {
  return { kind: "complete", result: errorResult(text, data), cause: error };
}

function errorResult(text: string, data?: Json): CallToolResult {
  const meta: { _meta?: JsonObject } = data === undefined ? {} : { _meta: { "plugbay/error": data } };
  return { content: [{ type: "text", text }], isError: true, ...meta };
}
