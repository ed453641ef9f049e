import {
  aBoolean,
  aListOf,
  aNumber,
  anObject,
  anything,
  aString,
  type Check,
  type Members,
  oneOf,
  optional,
} from "../json/check.ts";
import { asJson, isObject, type Json, type JsonObject } from "../json/json.ts";
import { stubReason } from "../json/stub.ts";
import type { Annotations, Resource, ResourceTemplate } from "../protocol/content.ts";
import type { Method, Result } from "../protocol/methods.ts";
import type { Prompt, PromptArgument } from "../protocol/prompt.ts";
import type { CallOf, OutcomeOf, Service } from "../protocol/service.ts";
import type { Tool, ToolAnnotations } from "../protocol/tool.ts";
import { findHiddenText } from "../std/hidden-text.ts";
import { quote } from "../std/text.ts";
import type { Warn } from "./warning.ts";

/** A service whose lists contain only well-formed entries. Each entry that is left out causes a warning. */
export function withoutMalformed(service: Service, warn: Warn): Service {
  return async <M extends Method>(call: CallOf<M>): Promise<OutcomeOf<M>> => {
    const outcome = await service(call);
    const list = lists.get(call.method);
    const result = list === undefined ? undefined : readable(outcome);
    const entries = list && result?.[list.member];
    if (list === undefined || !Array.isArray(entries)) return outcome;
    const fine = entries.filter((entry: Json, index) => {
      const problem = problemOf(list, entry);
      if (problem !== undefined) warn(leftOut(list, entry, index, problem));
      else warnOfHidden(() => nameOf(list, entry, index), entry, warn);
      return problem === undefined;
    });
    if (outcome.kind === "complete" && fine.length === entries.length) return outcome;
    const whole = { kind: "complete", result: { ...result, [list.member]: fine } as unknown as Result<M> } as const;
    return "size" in outcome ? { ...whole, size: outcome.size } : whole;
  };
}

/** The result, or what could be read of one that breaks a limit. */
function readable(outcome: OutcomeOf): JsonObject | undefined {
  if (outcome.kind === "complete") return asJson(outcome.result);
  return outcome.kind === "failed" ? outcome.partial : undefined;
}

/** Warns of characters that do not show, in anything that people or models read. `what` names it. */
export function warnOfHidden(what: () => string, value: unknown, warn: Warn): void {
  const found = findHiddenText(value);
  if (found.length === 0) return;
  const places = found.map(({ at, characters }) => `${at === "" ? "its text" : at} (${characters.join(", ")})`);
  warn({ kind: "hidden-characters", message: `${what()} has characters that do not show in ${places.join(", ")}` });
}

/** Why an entry is left out. */
function problemOf(list: List, entry: Json): string | undefined {
  const excess = stubReason(entry);
  if (excess !== undefined) return `${excess}; raise it in limits of connect if you trust the server`;
  const problem = list.check(entry);
  return problem === undefined ? undefined : wordsOf(problem);
}

/** The entries of a whole list without those whose name, or URI, an earlier one has. */
export function withoutDuplicates<E extends object>(method: Method, entries: readonly E[], warn: Warn): readonly E[] {
  const list = lists.get(method);
  if (list === undefined) return entries;
  const seen = new Set<Json | undefined>();
  return entries.filter((entry, index) => {
    const id = asJson(entry)[list.id];
    const isNew = !seen.has(id);
    if (!isNew) warn(leftOut(list, asJson(entry), index, `the list has another one of this ${list.id}`));
    seen.add(id);
    return isNew;
  });
}

/** What the entries of a list are, and what each must be. */
interface List {
  /** Where the entries are in the result. */
  readonly member: string;
  readonly noun: string;
  /** The member that identifies entries. */
  readonly id: string;
  readonly check: Check;
}

const aName: Check = (value) => aString(value) ?? (value === "" ? " must not be empty" : undefined);
const optionalObject = optional(anObject());
const optionalString = optional(aString);
const optionalBoolean = optional(aBoolean);
const named = {
  name: aName,
  title: optionalString,
  description: optionalString,
  icons: anything,
  _meta: optionalObject,
};

/** Providers take nothing but an object as the arguments of a tool. */
const anInputSchema = anObject({
  type: (type) => (Array.isArray(type) && type.includes("object") ? undefined : optional(oneOf("object"))(type)),
});

const aTool = anObject({
  ...named,
  inputSchema: anInputSchema,
  outputSchema: optionalObject,
  annotations: optional(
    anObject({
      title: optionalString,
      readOnlyHint: optionalBoolean,
      destructiveHint: optionalBoolean,
      idempotentHint: optionalBoolean,
      openWorldHint: optionalBoolean,
    } satisfies Members<ToolAnnotations>),
  ),
  execution: optionalObject,
} satisfies Members<Tool>);

const described = {
  ...named,
  // Resources are identified by their URI only.
  name: aString,
  mimeType: optionalString,
  annotations: optional(
    anObject({
      audience: optional(aListOf(aString)),
      priority: optional(aNumber),
      lastModified: optionalString,
    } satisfies Members<Annotations>),
  ),
};
const aResource = anObject({ uri: aName, ...described, size: optional(aNumber) } satisfies Members<Resource>);
const aTemplate = anObject({ uriTemplate: aName, ...described } satisfies Members<ResourceTemplate>);

const anArgument = {
  name: aString,
  title: optionalString,
  description: optionalString,
  required: optionalBoolean,
} satisfies Members<PromptArgument>;
const aPrompt = anObject({ ...named, arguments: optional(aListOf(anObject(anArgument))) } satisfies Members<Prompt>);

const aTask = anObject({
  taskId: aName,
  status: oneOf("working", "input_required", "completed", "failed", "cancelled"),
});

const lists = new Map<string, List>([
  ["tools/list", { member: "tools", noun: "tool", id: "name", check: aTool }],
  ["resources/list", { member: "resources", noun: "resource", id: "uri", check: aResource }],
  [
    "resources/templates/list",
    { member: "resourceTemplates", noun: "resource template", id: "uriTemplate", check: aTemplate },
  ],
  ["prompts/list", { member: "prompts", noun: "prompt", id: "name", check: aPrompt }],
  ["tasks/list", { member: "tasks", noun: "task", id: "taskId", check: aTask }],
]);

/** What the results of a method that lists something must be. Undefined for any other method. */
export function checkOfList(method: string): Check | undefined {
  const list = lists.get(method);
  return list && anObject({ nextCursor: optionalString, [list.member]: aListOf(list.check) });
}

function leftOut(list: List, entry: Json | JsonObject, index: number, problem: string): Parameters<Warn>[0] {
  const kind = list.noun === "tool" ? "tool-left-out" : "entry-left-out";
  return { kind, message: `${nameOf(list, entry, index)} is left out: ${problem}` };
}

function nameOf({ member, noun, id }: List, entry: Json | JsonObject, index: number): string {
  const name = isObject(entry) ? entry[id] : undefined;
  return typeof name === "string" && name !== "" ? `${noun} ${quote(name)}` : `${member}[${index}]`;
}

/** A problem is worded to follow the name of what has it. */
function wordsOf(problem: string): string {
  return problem.startsWith(".") ? problem.slice(1) : `it${problem}`;
}
