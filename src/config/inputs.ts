import type { SourceLocation } from "./problem.ts";
import type { ConfigNode, ObjectNode } from "./tree.ts";

/** A value that is asked for once, when a server needs it: `${input:id}`. */
export interface ConfigInput {
  readonly id: string;
  /** `command` would run a command of an editor, which is never done. */
  readonly type: "prompt" | "pick" | "command";
  readonly description?: string;
  /** What is typed should not be shown. */
  readonly password: boolean;
  readonly default?: string;
  /** What can be picked. */
  readonly options?: readonly InputOption[];
  readonly place: SourceLocation;
}

export interface InputOption {
  readonly label: string;
  readonly value: string;
}

/** Reads the `inputs` of a file. Invalid ones are left out, so that using one is a problem. */
export function readInputs(node: ConfigNode | undefined): ReadonlyMap<string, ConfigInput> {
  const inputs = new Map<string, ConfigInput>();
  for (const item of node?.kind === "array" ? node.items : []) {
    const input = item.kind === "object" ? readInput(item) : undefined;
    if (input !== undefined && !inputs.has(input.id)) inputs.set(input.id, input);
  }
  return inputs;
}

/** What users fill in for themselves in LibreChat: `customUserVars`. */
export function readUserVariables(node: ObjectNode): ReadonlyMap<string, ConfigInput> {
  const variables = node.members.get("customUserVars")?.value;
  if (variables?.kind !== "object") return new Map();
  return new Map(
    [...variables.members].map(([id, { at, value }]) => {
      const description =
        value.kind === "object" ? (textOf(value, "description") ?? textOf(value, "title")) : undefined;
      const input: ConfigInput = { id, type: "prompt", password: true, place: at };
      return [id, description === undefined ? input : { ...input, description }];
    }),
  );
}

function readInput(node: ObjectNode): ConfigInput | undefined {
  const id = textOf(node, "id");
  const type = types.get(textOf(node, "type") ?? "promptString");
  if (id === undefined || type === undefined) return undefined;
  const description = textOf(node, "description");
  const fallback = textOf(node, "default");
  const options = node.members.get("options")?.value;
  const password = node.members.get("password")?.value;
  return {
    id,
    type,
    password: password?.kind === "flag" && password.value,
    place: node.at,
    ...(description !== undefined && { description }),
    ...(fallback !== undefined && { default: fallback }),
    ...(options?.kind === "array" && { options: options.items.flatMap(readOption) }),
  };
}

const types: ReadonlyMap<string, ConfigInput["type"]> = new Map([
  ["promptString", "prompt"],
  ["pickString", "pick"],
  ["command", "command"],
]);

function readOption(node: ConfigNode): readonly InputOption[] {
  if (node.kind === "text") return [{ label: node.text, value: node.text }];
  if (node.kind !== "object") return [];
  const value = textOf(node, "value");
  return value === undefined ? [] : [{ label: textOf(node, "label") ?? value, value }];
}

function textOf(node: ObjectNode, name: string): string | undefined {
  const value = node.members.get(name)?.value;
  return value?.kind === "text" ? value.text : undefined;
}
