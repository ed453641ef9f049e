import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { McpError, toFailure } from "../model/errors.ts";
import type { Result } from "../model/methods.ts";
import { newest } from "../model/revision.ts";
import { hasScopes, isScope } from "../model/scopes.ts";
import type { Call, Outcome } from "../model/service.ts";
import type { CallToolResult, Tool } from "../model/tool.ts";
import type { Checked, Issue, Validator } from "../schema/validator.ts";
import { defined } from "../std/defined.ts";
import type { Background } from "./background.ts";
import { isContent } from "./content.ts";
import { RunContext } from "./context.ts";
import type { TaskMode, ToolDefinition } from "./define-tool.ts";
import { badDefinition, describe } from "./description.ts";
import type { Environment } from "./environment.ts";
import type { Execution, Job } from "./execution.ts";
import { isForReader } from "./faults.ts";
import { issueText } from "./issue-text.ts";
import { type OwnedSchema, type Provable, readSchema } from "./owned-schema.ts";
import { createRegistry, type Registry } from "./registry.ts";
import { type RepeatedParams, repeatedParams } from "./repeated-params.ts";

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
}

export interface ToolBoxOptions {
  readonly env: Environment;
  onChange(): void;
  /** Loaded for the first call that may become a task. */
  background(): Promise<Background>;
}

export function createToolBox({ env, onChange, background }: ToolBoxOptions): ToolBox {
  let hasTasks = false;
  const registry = createRegistry<ReadyTool, Result<"tools/list">>({
    noun: "tool",
    pageSize: env.pageSize,
    render: (items, next) => Object.freeze({ tools: items.map((item) => item.listed), ...next, ...env.cache }),
    onChange,
  });

  const proceed = (tool: ReadyTool, call: Call<"tools/call">, checked: Checked) => {
    if (!checked.ok) return refuse(tool, checked.issues, env);
    const job = new ToolJob(tool, checked.value, env);
    if (tool.task === "never" || call.tasks === undefined) return env.runner.run(call, job) as Outcome<"tools/call">;
    return background().then((it) => it.callTask(call, tool, job));
  };

  const check = (tool: ReadyTool, call: Call<"tools/call">, input: JsonObject) => {
    const checked = tool.input === undefined ? { ok: true as const, value: input } : tool.input.check(input);
    return checked instanceof Promise
      ? checked.then((settled) => proceed(tool, call, settled))
      : proceed(tool, call, checked);
  };

  return {
    ...registry,
    hasTasks: () => hasTasks,
    define(name, definition) {
      const tool = readyTool(name, definition, env);
      registry.add(name, tool);
      if (tool.task === "never") return;
      hasTasks = true;
      if (env.store !== undefined) void background().then((it) => it.begin());
    },
    call(call) {
      const { name, arguments: input = {} } = call.params;
      const tool = registry.get(name);
      if (tool === undefined) return unknownTool(name);
      const { scopes } = tool.definition;
      if (scopes !== undefined && !hasScopes(call.peer.auth, scopes)) return forbidden(tool.name, scopes);
      const { repeated, task } = tool;
      if (hasTasks && (task === "never" ? call.tasks?.wanted : task === "required" && call.tasks === undefined)) {
        return background().then((it) => it.refuseTerms(call, tool));
      }
      if (repeated !== undefined && call.http !== undefined && call.peer.revision === newest) {
        return repeated
          .problem(input, call.http)
          .then((problem) => (problem === undefined ? check(tool, call, input) : mismatch(problem)));
      }
      return check(tool, call, input);
    },
  };
}

const toolName = /^[A-Za-z0-9_.-]{1,128}$/;

/** Checks a definition once, so that a bad one fails at start and names the tool. */
function readyTool(name: string, definition: ToolDefinition, env: Environment): ReadyTool {
  const owner = `tool ${name}`;
  if (!toolName.test(name)) throw badDefinition(owner, "its name must be 1 to 128 of A-Z a-z 0-9 _ . -");
  if (!isObject(definition)) throw badDefinition(owner, "it must be an object with run");
  const { annotations, timeoutMs = env.timeoutMs, task = "never" } = definition;
  if (typeof definition.run !== "function") throw badDefinition(owner, "run must be a function");
  if (definition.scopes?.every(isScope) === false) throw badDefinition(owner, "scopes must be texts without spaces");
  if (!/^(auto|required|never)$/.test(task)) throw badDefinition(owner, "task must be auto, required or never");
  const input = readSchema(`${owner}: input`, definition.input);
  const output = readSchema(`${owner}: output`, definition.output, { direction: "output" });
  if (input !== undefined && input.json.type !== "object") {
    throw badDefinition(owner, 'input must have "type": "object" at its root');
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

/** One call of one tool. */
export class ToolJob implements Job {
  readonly timeoutMs: number;
  readonly #tool: ReadyTool;
  readonly #input: unknown;
  readonly #env: Environment;

  constructor(tool: ReadyTool, input: unknown, env: Environment) {
    this.timeoutMs = tool.timeoutMs;
    this.#tool = tool;
    this.#input = input;
    this.#env = env;
  }

  start(execution: Execution): unknown {
    return this.#tool.definition.run(this.#input, new RunContext(execution, this.#env.logging));
  }

  finish(value: unknown): Outcome<"tools/call"> | Promise<Outcome<"tools/call">> {
    const { output } = this.#tool;
    const full = isResult(value) ? withoutFalseError(value) : undefined;
    if (output === undefined) return complete(full ?? toResult(value));
    if (full?.isError) return complete(full);
    if (full !== undefined && "structuredContent" in full) return this.#checked(output, full.structuredContent, full);
    return this.#checked(output, value);
  }

  /** What the model can act on is a result; everything else fails the call. */
  fail(error: unknown): Outcome<"tools/call"> {
    if (error instanceof McpError && isForReader(error)) return complete(errorResult(error.message, error.data));
    const failure = this.#env.faults.failureOf(error, "tools/call", this.#tool.name);
    if (error instanceof McpError && failure.code === error.code) return { kind: "failed", failure };
    return complete(errorResult(failure.message));
  }

  #checked(output: Validator, value: unknown, full?: CallToolResult) {
    const checked = output.check(value);
    if (checked instanceof Promise) return checked.then((settled) => this.#structured(settled, full));
    return this.#structured(checked, full);
  }

  /** A value that breaks its own schema is a fault of the server, not something the model can mend. */
  #structured(checked: Checked, full: CallToolResult | undefined): Outcome<"tools/call"> {
    if (checked.ok) return complete(structured(checked.value, full));
    const { name } = this.#tool;
    const error = new Error(`tool ${name} returned what its output schema forbids: ${issueText(checked.issues)}`);
    return { kind: "failed", failure: this.#env.faults.failureOf(error, "tools/call", name) };
  }
}

/** Arguments that do not match are told to the model, which can mend them. */
export function refuse({ name }: ReadyTool, issues: readonly Issue[], env: Environment): Outcome<"tools/call"> {
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

/** Told before anything is looked at: what the arguments should be is for those who may call. */
function forbidden(name: string, scopes: readonly string[]): Outcome<"tools/call"> {
  const message = `tool ${name} takes scopes that were not granted`;
  return { kind: "failed", failure: { code: "forbidden", message, data: { reason: "forbidden", scopes } } };
}

/** Who looks at headers only must not see another call than the tool. */
function mismatch(message: string): Outcome<"tools/call"> {
  return { kind: "failed", failure: { code: "header-mismatch", message } };
}

function complete(result: CallToolResult): Outcome<"tools/call"> {
  return { kind: "complete", result };
}

/** An object with an array of content blocks, and none of another making. */
function isResult(value: unknown): value is CallToolResult {
  return isObject(value) && Array.isArray(value.content) && value.content.every(isContent);
}

/** `isError` is there when it is true, and only then. */
function withoutFalseError(result: CallToolResult): CallToolResult {
  if (!("isError" in result) || result.isError === true) return result;
  const { isError: _, ...rest } = result;
  return rest;
}

/** The result a plain return value stands for. */
function toResult(value: unknown): CallToolResult {
  if (typeof value === "string") return { content: [{ type: "text", text: value }] };
  if (value === undefined) return { content: [] };
  if (isContent(value)) return { content: [value] };
  if (Array.isArray(value) && value.length > 0 && value.every(isContent)) return { content: value };
  if (typeof value === "object" && value !== null) return structured(value);
  if (typeof value === "function" || typeof value === "symbol") throw new Error(`a tool returned a ${typeof value}`);
  return { content: [{ type: "text", text: String(value) }] };
}

/** Clients that do not read structured content get its text, unless the tool gave its own. */
function structured(value: unknown, full?: CallToolResult): CallToolResult {
  const structuredContent = value as Json;
  if (full !== undefined && full.content.length > 0) return { ...full, structuredContent };
  const text = JSON.stringify(value) ?? "null";
  return { ...full, content: [{ type: "text", text }], structuredContent };
}

function errorResult(text: string, data?: Json): CallToolResult {
  const meta: { _meta?: JsonObject } = data === undefined ? {} : { _meta: { "plugbay/error": data } };
  return { content: [{ type: "text", text }], isError: true, ...meta };
}
