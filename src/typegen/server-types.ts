import { isObject } from "../json/json.ts";
import type { Prompt } from "../model/prompt.ts";
import type { Tool } from "../model/tool.ts";
import type { Definitions } from "./definitions.ts";
import { pascalCase } from "./names.ts";
import { type Doc, isAnyObject, isUnknown, type Member, type ObjectType, type Type, word } from "./type-tree.ts";

/** What the tools of a server take and give, by name. Types that their schemas refer to are defined under `base`. */
export function toolsType(tools: readonly Tool[], base: string, definitions: Definitions): ObjectType {
  const members = byName(tools).map((tool) => {
    const name = base + pascalCase(tool.name, "Tool");
    const input = definitions.read(tool.inputSchema, { prefix: base, name: `${name}Input` });
    const output = definitions.read(tool.outputSchema, { prefix: base, name: `${name}Output` });
    const shape = { input: takesAnything(input, definitions) ? word("object") : input, output };
    const parts = Object.entries(shape).map(([part, type]): Member => ({ name: part, type, isReadonly: true }));
    return { name: tool.name, type: { kind: "object", members: parts }, isReadonly: true, doc: toolDoc(tool) } as const;
  });
  return { kind: "object", members };
}

/** What the prompts of a server take, by name. All arguments are texts. */
export function promptsType(prompts: readonly Prompt[]): ObjectType {
  const members = byName(prompts).map(({ name, title, description, arguments: taken = [] }) => {
    const parts = firstOfName(taken).map(
      (argument): Member => ({
        name: argument.name,
        type: word("string"),
        isOptional: argument.required !== true,
        isReadonly: true,
        doc: { text: argument.description ?? argument.title },
      }),
    );
    const doc = { text: headed(title, description) };
    return { name, type: { kind: "object", members: parts }, isReadonly: true, doc } as const;
  });
  return { kind: "object", members };
}

/** In the order of their names, the first of those with the same. */
export function byName<T extends { readonly name: string }>(items: readonly T[]): readonly T[] {
  return firstOfName(items).toSorted((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));
}

function firstOfName<T extends { readonly name: string }>(items: readonly T[]): readonly T[] {
  const names = new Set<string>();
  return items.filter(({ name }) => !names.has(name) && names.add(name));
}

/** Where any object will do, arguments may be left out: callers of `typeof server` see it the same. */
function takesAnything(type: Type, definitions: Definitions): boolean {
  const holds = (part: Type): boolean => takesAnything(part, definitions);
  switch (type.kind) {
    case "name": {
      const meant = definitions.typeOf(type.name);
      return meant !== undefined && holds(meant);
    }
    case "union":
      return type.of.some(holds);
    case "intersection":
      return type.of.every(holds);
    default:
      return isUnknown(type) || isAnyObject(type);
  }
}

function toolDoc({ name, title, annotations, description, inputSchema, _meta: meta }: Tool): Doc {
  const heading = title ?? annotations?.title;
  const told = meta?.deprecated ?? (isObject(inputSchema) ? inputSchema.deprecated : undefined);
  const text = headed(heading === name ? undefined : heading, description);
  if (told !== true && typeof told !== "string") return { text };
  return { text, tags: [{ name: "deprecated", text: told === true ? undefined : told }] };
}

/** A title above a description, unless that begins with it. */
function headed(title: string | undefined, description: string | undefined): string | undefined {
  if (title === undefined || description === undefined) return description ?? title;
  return description.startsWith(title) ? description : `${title}\n\n${description}`;
}
